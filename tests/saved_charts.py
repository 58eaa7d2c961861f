"""A chart of the charts over time, saved as a person saves it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page


def saved_chart(page: Page, title: str, folder: Path) -> dict[str, bytes]:
    """The three files of one chart by their kind."""
    saved = {}
    for kind in ("PNG", "SVG", "CSV"):
        page.get_by_label(f"Save the chart {title}").click()
        with page.expect_download() as caught:
            page.locator(".lv-wide").get_by_role("button", name=kind).click()
        caught.value.save_as(folder / kind)
        saved[kind] = (folder / kind).read_bytes()
    return saved
