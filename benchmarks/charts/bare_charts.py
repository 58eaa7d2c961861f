"""The limit that Streamlit and Plotly set: an app of constant charts beside Live of a day of 8 runs, opened by turns.

    python -m benchmarks.charts.bare_charts [--runs 8] [--turns 3]

The app has as many charts as Live draws, each of as many series of 1,000 buckets (two points each, as their least and
greatest value); nothing is read or computed. Live is opened once with nothing cached, then by turns with the app, which
has everything cached. Each opening is in a real Chromium with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.charts.bare_streamlit import served_app
from benchmarks.charts.day_at_1hz import DRAWN, PATIENCE_MS, filled
from scripts.find_browser import installed
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports

VIEWPORT = {"width": 1400, "height": 900}
APP = """
import numpy as np
import plotly.graph_objects as go
import streamlit as st

st.set_page_config(layout="wide")

@st.cache_resource
def figures():
    random, t = np.random.default_rng(0), np.repeat(np.arange(1000), 2) * 86.4
    def series(name):
        return go.Scatter(x=t, y=random.normal(100, 5, len(t)), name=name)
    return [go.Figure([series(f"day {{n}}") for n in range({runs})]) for _ in range({charts})]

st.title("Live")
for number, figure in enumerate(figures()):
    st.plotly_chart(figure, key=f"chart-{{number}}")
"""
BARE_DRAWN = DRAWN.replace(".lv-plot", ".js-plotly-plot")
CHARTS = "[...document.querySelectorAll('.lv-plot')].filter((plot) => plot._fullLayout).length"


def drawn_s(context: BrowserContext, address: str, condition: str) -> float:
    """Return the seconds until a chart with all series is drawn; the context is closed by then."""
    page, began_s = context.new_page(), time.monotonic()
    page.goto(address, wait_until="commit")
    page.wait_for_function(condition, timeout=PATIENCE_MS)
    seconds = time.monotonic() - began_s
    context.close()
    return seconds


def count_charts(context: BrowserContext, address: str) -> int:
    """Return how many charts Live draws in this window."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(f"() => {CHARTS} > 0", timeout=PATIENCE_MS)
    page.wait_for_timeout(3_000)
    count: int = page.evaluate(CHARTS)
    context.close()
    return count


def compare(browser: Browser, pitwall: Pitwall, run_ids: list[str], turns: int) -> None:
    """Print the seconds of each opening, and the medians of what is opened by turns."""

    def visitor() -> BrowserContext:
        return signed_in(browser, pitwall, viewport=VIEWPORT)

    address, condition = f"{pitwall.url}/live?{'&'.join(f'run={name}' for name in run_ids)}", DRAWN % len(run_ids)
    print(f"Live, nothing cached: {drawn_s(visitor(), address, condition):.1f} s", flush=True)
    charts = count_charts(visitor(), address)
    with (
        tempfile.TemporaryDirectory() as folder,
        served_app(Path(folder), APP.format(runs=len(run_ids), charts=charts)) as (bare, _),
    ):
        openings: dict[str, Callable[[], float]] = {
            f"app of {charts} constant charts": lambda: drawn_s(
                browser.new_context(viewport=VIEWPORT),
                bare,
                BARE_DRAWN % len(run_ids),  # type: ignore[arg-type]
            ),
            "Live, everything cached": lambda: drawn_s(visitor(), address, condition),
        }
        taken_s: dict[str, list[float]] = {name: [] for name in openings}
        for _ in range(turns):
            for name, opening in openings.items():
                taken_s[name].append(opening())
    for name, values in taken_s.items():
        text = ", ".join(f"{value:.1f}" for value in values)
        print(f"{name}: median {statistics.median(values):.1f} s ({text})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_ids = filled(folder / "data", folder, arguments.runs)
        pitwall = Pitwall(folder / "data", free_ports(1)[0])
        pitwall.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=installed(), args=["--no-sandbox", "--disable-gpu"]
                )
                compare(browser, pitwall, run_ids, arguments.turns)
                browser.close()
        finally:
            pitwall.end_everything()
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
