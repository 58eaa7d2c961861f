"""The limit that Streamlit sets: an app of a title, a text box and a table, beside Pitwall's Runs, opened by turns.

    python -m benchmarks.charts.bare_streamlit [--turns 5] [--viewers 50]

Both have 34 rows, and both are opened in a real Chromium with an empty cache; then this many viewers open each at once,
without a browser, and an app with as many elements of each kind as Runs, all of them constant. What Runs takes beyond
that one is Pitwall's own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.charts.page_opening import CONTENT, DESKTOP, PATIENCE_MS, Checkout, filled_checkout
from benchmarks.scale.viewers import opened_s
from scripts.find_browser import installed
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import ROOT
from tests.ports import free_ports

APP = """
import streamlit as st

def runs():
    st.title("Runs")
    st.text_input("Find")
    st.dataframe([{"run": f"run {n}", "decode tok/s": 100.0 + n, "TTFT ms": 20.0 + n} for n in range(34)])

st.set_page_config(layout="wide")
st.navigation([st.Page(runs, title="Runs", default=True)], position="top").run()
"""
# The kinds and numbers of what Runs sends for 34 ended runs: benchmarks/README.md has the count.
AS_MANY_ELEMENTS = """
import streamlit as st

OPTIONS = ["vllm", "sglang", "llamacpp"]

@st.fragment(run_every=5)
def follow():
    pass

def runs():
    st.html("<p>Runs</p>")
    for label in ("Launch", "Import"):
        st.page_link(page, label=label)
    for _ in range(3):
        with st.container():
            follow()
    st.subheader("Finished runs")
    for number in range(9):
        with st.container(horizontal=True, key=f"row-{number}"):
            if number < 3:
                st.selectbox(f"Choice {number}", OPTIONS, key=f"choice-{number}", width=144)
                st.multiselect(f"Filter {number}", OPTIONS, key=f"filter-{number}", width=144)
                st.popover(f"More {number}", key=f"more-{number}", on_change="rerun")
            elif number < 5:
                st.toggle(f"Switch {number}", key=f"switch-{number}")
                st.markdown("34 runs", width="content")
    st.text_input("Find", key="find")
    rows = [{"run": f"run {n}", "decode tok/s": 100.0 + n, "TTFT ms": 20.0 + n} for n in range(34)]
    st.dataframe(rows, on_select="rerun", selection_mode="multi-row", key="table")
    st.pills("More", [f"Section {number}" for number in range(7)], selection_mode="multi", key="sections")
    st.html("<p>34 runs</p>")

st.set_page_config(layout="wide")
page = st.Page(runs, title="Runs", default=True)
chosen = st.navigation([page], position="top")
st.set_page_config(page_title="Runs")
with st.container(key="status"):
    follow()
chosen.run()
"""
USABLE = """
const look = () => {
  const content = document.querySelector(`%s`);
  if (content?.checkVisibility({ visibilityProperty: true }) && !document.querySelector(".pw-first"))
    window.usable = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


@contextmanager
def served_app(folder: Path, code: str) -> Iterator[tuple[str, psutil.Process]]:
    """Serve an app of this code; yield its address and process."""
    port = free_ports(1)[0]
    script = folder / f"app-{port}.py"
    script.write_text(code)
    flags = ["--server.port", str(port), "--server.headless", "true", "--browser.gatherUsageStats", "false"]
    with subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), *flags, "--server.address", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        url = f"http://127.0.0.1:{port}"
        while not _is_served(url):
            time.sleep(0.1)
        yield url, psutil.Process(process.pid)
        process.terminate()


def _is_served(url: str) -> bool:
    try:
        return httpx.get(f"{url}/_stcore/health").is_success
    except httpx.TransportError:
        return False


def usable_ms(context: BrowserContext, url: str) -> float:
    """Return the milliseconds until the page's table is in sight."""
    page = context.new_page()
    page.add_init_script(USABLE % CONTENT["Runs"])
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => window.usable", timeout=PATIENCE_MS)
    shown_ms: float = page.evaluate("window.usable")
    context.close()
    return shown_ms


def print_openings(contexts: dict[str, tuple[str, Callable[[], BrowserContext]]], turns: int) -> None:
    """Print the median time to the table of each app, opened by turns; the first turn warms up."""
    taken_ms: dict[str, list[float]] = {name: [] for name in contexts}
    for turn in range(turns + 1):
        for name, (url, new_context) in contexts.items():
            shown_ms = usable_ms(new_context(), url)
            if turn:
                taken_ms[name].append(shown_ms)
    print("| table in sight | median | least |\n|---|---|---|")
    for name, values in taken_ms.items():
        print(f"| {name} | {statistics.median(values):,.0f} ms | {min(values):,.0f} ms |")


def print_viewers(servers: dict[str, tuple[str, str, psutil.Process]], viewers: int, turns: int) -> None:
    """Print how long viewers who open each app at once wait until its script has finished."""
    print(f"\n| {viewers} at once | app | p50 | worst | CPU of the server |\n|---|---|---|---|---|")
    for turn in range(turns):
        for name, (url, cookie, process) in servers.items():
            before = process.cpu_times()
            with ThreadPoolExecutor(viewers) as pool:
                waits = sorted(pool.map(opened_s, [url] * viewers, [cookie] * viewers))
            after = process.cpu_times()
            cpu_s = after.user + after.system - before.user - before.system
            p50_s, worst_s = waits[viewers // 2], waits[-1]
            print(f"| turn {turn + 1} | {name} | {p50_s:.2f} s | {worst_s:.2f} s | {cpu_s:.2f} s |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--viewers", type=int, default=50)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        served_app(Path(name), APP) as (url, process),
        served_app(Path(name), AS_MANY_ELEMENTS) as (larger_url, larger_process),
        sync_playwright() as playwright,
    ):
        ours = filled_checkout("this", ROOT, Path(name) / "this")
        try:
            browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
            print_openings(_contexts(browser, url, ours), arguments.turns)
            browser.close()
            answer = httpx.get(f"{ours.pitwall.url}/?token={ours.pitwall.token}")
            assert ours.pitwall.process
            own_process = psutil.Process(ours.pitwall.process.pid)
            own = (ours.pitwall.url, answer.headers["set-cookie"].split(";")[0], own_process)
            servers = {
                "bare app": (url, "", process),
                "as many elements": (larger_url, "", larger_process),
                "Pitwall": own,
            }
            print_viewers(servers, arguments.viewers, arguments.turns)
        finally:
            ours.pitwall.end_everything()
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


def _contexts(browser: Browser, url: str, checkout: Checkout) -> dict[str, tuple[str, Callable[[], BrowserContext]]]:
    return {
        "bare app": (url, lambda: browser.new_context(viewport=DESKTOP)),  # type: ignore[arg-type]
        "Pitwall": (checkout.pitwall.url, lambda: signed_in(browser, checkout.pitwall, viewport=DESKTOP)),
    }


if __name__ == "__main__":
    sys.exit(main())
