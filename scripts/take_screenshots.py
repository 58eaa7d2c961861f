"""Make the README's pictures: a fresh Pitwall, its demo run to the end, Live and Compare in a real browser.

`.venv/bin/python -m scripts.take_screenshots` (about two minutes on a quiet machine).
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from demo.presets import free_ports
from scripts.find_browser import installed
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until

PICTURES = ROOT / "docs" / "screenshots"
DEMO_S = 600.0
SETTLE_MS = 4000
LIVE_MS = 500  # on quick cores the third run ends, and Live goes on to the next round, a few seconds after it is ready


def picture(page: Page, name: str, height: int, settle_ms: int = SETTLE_MS) -> None:
    """Take one picture of the page."""
    page.set_viewport_size({"width": 1400, "height": height})
    page.wait_for_timeout(settle_ms)
    page.screenshot(path=str(PICTURES / f"{name}.png"))


def take(pitwall: Pitwall, page: Page) -> None:
    """Press the demo's button, and take pictures during and after the demo."""
    page.goto(f"{pitwall.url}/?token={pitwall.token}")
    page.get_by_role("button", name="Run the demo").click()
    page.wait_for_url(re.compile(r"/live\?run="))
    third = "SELECT 1 FROM engine_samples WHERE since_ready_s > 2 HAVING count(DISTINCT run_id) >= 3"
    wait_until(lambda: pitwall.sql(third), DEMO_S, every_s=0.25)
    picture(page, "live", 1000, LIVE_MS)
    wait_until(lambda: set(pitwall.states().values()) == {"finished"}, DEMO_S, every_s=1.0)
    page.goto(f"{pitwall.url}/compare")
    picture(page, "compare", 1000)


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pitwall-") as folder, sync_playwright() as playwright:
        pitwall = Pitwall(Path(folder) / "data", free_ports(1)[0])
        try:
            pitwall.start()
            browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--headless"])
            take(pitwall, browser.new_page(viewport={"width": 1400, "height": 1000}))
            browser.close()
        finally:
            pitwall.end_everything()
    return 0


if __name__ == "__main__":
    sys.exit(main())
