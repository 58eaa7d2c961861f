"""The row that every page begins with."""

from __future__ import annotations

import re
from pathlib import Path

from web.page_head import title_html

PAGES = Path(__file__).resolve().parents[2] / "pages"


def test_title_escapes_and_links_to_its_parent() -> None:
    html = title_html("<b>", ("runs", "Runs"), 1)
    assert "<b>" not in html and "&lt;b&gt;" in html and '<a class="pw-crumb" href="runs"' in html
    assert re.fullmatch(r'<h1 class="pw-title"><span>SQL</span></h1>', title_html("SQL"))


def test_every_page_has_the_row() -> None:
    """Live's is in web/live/head.py and Run's in web/runs/page/run_page.py."""
    elsewhere = {"live.py", "run.py"}
    pages = {path.name for path in PAGES.glob("*.py") if path.name != "__init__.py"}
    assert {path.name for path in PAGES.glob("*.py") if "page_head(" in path.read_text()} == pages - elsewhere
