"""Another tool, driven from the Run page: what it left behind is refused, and the page of the run says so by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.demo_engine import ROOT
from tests.e2e.launch_page import choose_option, watch_server
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

pytestmark = [pytest.mark.browser, pytest.mark.pages, pytest.mark.timeout(240)]
# A labelled stand-in for lm-eval: it ends well, and its file breaks off.
LM_EVAL = """#!{python}
import pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--output_path") + 1]) / "m"
out.mkdir()
cut = '{{"results": {{"sums": {{"exact_match,none": 0.5}}}}, "lm_eval'
(out / "results_2026-11-23T10-00-00.000000.json").write_text(cut)
"""


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a stand-in that runs no model."""
    port = free_ports(1)[0]
    process = subprocess.Popen([sys.executable, "-m", "demo", "paced", "--port", str(port), "--step-ms", "5"], cwd=ROOT)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


def test_refused_results_show_where_load_began(page: Page, pitwall: Pitwall, url: str, tmp_path: Path) -> None:
    tool = tmp_path / "lm_eval"
    tool.write_text(LM_EVAL.format(python=sys.executable))
    tool.chmod(0o700)
    run_id = watch_server(page, pitwall, url, "Theirs")
    page.goto(f"{pitwall.url}/run?run={run_id}")
    press(page.get_by_text("Run a load on this server"))
    press(page.get_by_text("Another tool"))
    choose_option(page, "Tool", "lm-eval")
    field = page.locator(
        ".st-key-executable-lm-eval input"
    )  # of this tool: that of the one before may still stand there
    field.fill(str(tool))
    field.press("Enter")
    expect(page.get_by_text(re.compile(f"{re.escape(str(tool))} run")).first).to_be_visible()
    press(page.get_by_role("button", name="Run it", disabled=False))
    said = page.get_by_text(re.compile("lm-eval results were refused: results_2026-11-23T10-00-00.000000.json")).first
    expect(said).to_be_visible(timeout=60_000)
    expect(said).to_contain_text("The files are in the run's folder: workload/results.")
    assert pitwall.sql("SELECT count(*) FROM loads") == [(0,)]
