"""Explore opened on the stored runs, and what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.web.app_page import page_at, still_charts

PAGE = str(Path(__file__).resolve().parents[3] / "pages" / "explore.py")
OF_ALL = "Warm single, then 2, 4, 8 at once"  # the load of all runs
TTFT, OUTPUT = "results.ttft_ms.median", "results.output_tps.mean"


def page(**params: str | list[str]) -> AppTest:
    return page_at(PAGE, **params)


def figure(at: AppTest) -> dict[str, Any]:
    (still_chart,) = still_charts(at)
    fields: dict[str, Any] = still_chart["figure"]
    return fields


def page_text(at: AppTest) -> str:
    html = " ".join(str(element.proto.body) for element in at.get("html"))
    return (" ".join(str(element.value) for element in (*at.caption, *at.info)) + html).replace("\\", "")


def points(at: AppTest) -> dict[str, int]:
    return {trace["name"]: len(trace["customdata"]) for trace in figure(at)["data"]}
