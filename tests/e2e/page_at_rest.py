"""A page that has come: what is looked at earlier holds nothing that could be wrong."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def expect_whole(known: Locator) -> None:
    """Wait for something that the page ends with, and until its script has sent all of it."""
    expect(known.first).to_be_visible()
    expect(known.page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
