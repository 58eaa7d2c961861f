"""Opening of the pages in a real Chromium with an empty cache, in two checkouts by turns.

    python -m benchmarks.charts.page_opening [--other PATH] [--turns 5] [--phone] [--viewers 50]

PATH is another checkout (`git worktree add PATH a1753a82`, with a `.venv` of its own or a link to one that has what it
requires). Each checkout fills a store of its own with the same 34 runs (tests/e2e/seeds.py) and serves it; every visit
has a new browser context. *Text* is the name of a run in sight; *usable* is the page without placeholder bars and first
look, with its own content; CLS is what Chromium sums up to two seconds later. The server's CPU is that of the visit, of
Chromium it is that of the page's main thread. Then this many viewers open Runs at once, without a browser.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.scale.viewers import opened_s
from scripts.find_browser import installed
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import ROOT, Pitwall
from tests.ports import free_ports

SEED = """
import sys
from pathlib import Path
from tests.e2e.seeds import seed_time_series, seed_many
data = Path(sys.argv[1])
seed_many(data)
print("\\n".join(seed_time_series(data, 600, {f"run {n}": 100.0 + n for n in range(14)})))
"""
PATIENCE_MS, REST_MS = 120_000, 2_000
DESKTOP, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
# What has come when the page can be used, beside its placeholder bars having gone.
CONTENT = {
    "Runs": "[data-testid=stDataFrame] canvas",
    "Live": ".lv-wide .lv-plot .main-svg",
    "Compare": ".pw-answer",
    "Run": "[data-testid=stMainBlockContainer] .pw-title",
}
WATCH = """
window.seen = { shift: 0, moved: [] };
new PerformanceObserver((list) => list.getEntries().filter((entry) => !entry.hadRecentInput).forEach((entry) => {
  window.seen.shift += entry.value;
  window.seen.moved.push([Math.round(entry.startTime), entry.value.toFixed(4),
    ...entry.sources.map(({ node }) => node?.className || node?.nodeName || "gone")]);
})).observe({ type: "layout-shift", buffered: true });
const isVisible = (element) => element && element.checkVisibility({ visibilityProperty: true });
const runName = /%(name)s/;
const look = () => {
  const root = document.querySelector("#root");
  const first = document.querySelector(".pw-first");
  if (!window.seen.text) {
    const places = [first, ...document.querySelectorAll("[data-testid=stMainBlockContainer] :is(a, canvas, b, span)")];
    const isRead = places.some((place) => isVisible(place) && runName.test(place.textContent));
    if (isRead) window.seen.text = performance.now();
  }
  const content = root?.classList.contains("pw-whole") && !first && document.querySelector(`%(content)s`);
  if (content && isVisible(content)) window.seen.usable = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


class Visit(NamedTuple):
    """Milliseconds since the address was opened, bytes over the network, CPU and the layout's shift."""

    paint_ms: float
    text_ms: float
    usable_ms: float
    shift: float
    received_mb: float
    requests: float
    server_cpu_ms: float
    page_cpu_ms: float


@dataclass
class Checkout:
    """A checkout with its Pitwall and the visits of its pages."""

    name: str
    root: Path
    pitwall: Pitwall
    run_ids: Sequence[str]
    visits: dict[str, list[Visit]] = field(default_factory=dict)

    def path(self, page: str) -> str:
        """Return the address of a page; all have runs of the same names."""
        count = {"Runs": 0, "Run": 1}.get(page, 3)
        query = "&".join(f"run={run_id}" for run_id in self.run_ids[:count])
        return f"{'' if page == 'Runs' else page.lower()}?{query}"

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the server so far."""
        assert self.pitwall.process
        times = psutil.Process(self.pitwall.process.pid).cpu_times()
        return times.user + times.system


def filled_checkout(name: str, root: Path, folder: Path) -> Checkout:
    """Fill a store with this checkout's own code, and start its Pitwall."""
    folder.mkdir()
    python = str(root / ".venv" / "bin" / "python")
    process = subprocess.run(
        [python, "-c", SEED, str(folder / "data")], cwd=root, capture_output=True, text=True, check=True
    )
    pitwall = Pitwall(folder / "data", free_ports(1)[0], root=root, command=(python, str(root / "pitwall"), "run"))
    pitwall.start()
    return Checkout(name, root, pitwall, process.stdout.split())


def visited(browser: Browser, checkout: Checkout, page_name: str, viewport: Mapping[str, int], shows: bool) -> Visit:
    """Open a page in a new context and wait until nothing moves any more."""
    context = signed_in(browser, checkout.pitwall, viewport=viewport, is_mobile=viewport == PHONE)
    try:
        return _visit(context, checkout, page_name, shows)
    finally:
        context.close()


def _visit(context: BrowserContext, checkout: Checkout, page_name: str, shows: bool) -> Visit:
    page, sizes = context.new_page(), list[int]()
    page.add_init_script(WATCH % {"name": r"run \d", "content": CONTENT[page_name]})
    cdp = context.new_cdp_session(page)
    cdp.send("Network.enable")
    cdp.send("Performance.enable")
    cdp.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    cpu_s = checkout.cpu_s
    page.goto(f"{checkout.pitwall.url}/{checkout.path(page_name)}", wait_until="commit")
    page.wait_for_function("() => window.seen?.usable", timeout=PATIENCE_MS)
    metrics = {metric["name"]: metric["value"] for metric in cdp.send("Performance.getMetrics")["metrics"]}
    page.wait_for_timeout(REST_MS)
    fields: dict[str, Any] = page.evaluate("window.seen")
    if shows:
        print(page_name, checkout.name, *fields["moved"], sep="\n  ", file=sys.stderr)
    server_ms, received = (checkout.cpu_s - cpu_s) * 1e3, sum(sizes) / 1e6
    text_ms = min(fields.get("text") or fields["usable"], fields["usable"])  # a canvas has no text to be found
    return Visit(
        page.evaluate(PAINTED), text_ms, fields["usable"], fields["shift"], received, len(sizes), server_ms,
        metrics["ThreadTime"] * 1e3,
    )  # fmt: skip


def print_table(checkouts: Sequence[Checkout], width: int) -> None:
    """Print the medians of a page's visits, and under them the ratio of the first checkout to the second."""
    print(f"\n| {width} px | checkout | first paint | text | usable | CLS | received | requests | CPU: server | page |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for page_name in CONTENT:
        rows = [_medians(checkout.visits[page_name]) for checkout in checkouts]
        for checkout, row in zip(checkouts, rows, strict=True):
            worst = max(visit.shift for visit in checkout.visits[page_name])
            print(
                f"| {page_name} | {checkout.name} | {row.paint_ms:,.0f} ms | {row.text_ms:,.0f} ms "
                f"| {row.usable_ms:,.0f} ms | {worst:.3f} | {row.received_mb:.2f} MB | {row.requests:.0f} "
                f"| {row.server_cpu_ms:,.0f} ms | {row.page_cpu_ms:,.0f} ms |"
            )
        if len(rows) > 1:
            ratios = [f"{row / theirs:.2f}" if theirs else "" for row, theirs in zip(*rows, strict=True)]
            print(f"| | ratio | {' | '.join([*ratios[:3], '', *ratios[4:]])} |")


def _medians(visits: Sequence[Visit]) -> Visit:
    return Visit(*(statistics.median(values) for values in zip(*visits, strict=True)))


def print_viewers(checkouts: Sequence[Checkout], viewers: int, turns: int) -> None:
    """Print how long viewers who open Runs at once wait until its script has finished, in turns."""
    print(
        f"\n| {viewers} open Runs | checkout | p50 | worst | CPU of the server | resident |\n|---|---|---|---|---|---|"
    )
    for turn in range(turns):
        for checkout in checkouts:
            assert checkout.pitwall.process
            answer, cpu_s = httpx.get(f"{checkout.pitwall.url}/?token={checkout.pitwall.token}"), checkout.cpu_s
            cookie = answer.headers["set-cookie"].split(";")[0]
            with ThreadPoolExecutor(viewers) as pool:
                waits = sorted(pool.map(opened_s, [checkout.pitwall.url] * viewers, [cookie] * viewers))
            resident = psutil.Process(checkout.pitwall.process.pid).memory_info().rss
            print(
                f"| turn {turn + 1} | {checkout.name} | {waits[viewers // 2]:.2f} s | {waits[-1]:.2f} s "
                f"| {checkout.cpu_s - cpu_s:.2f} s | {resident / 1e6:.0f} MB |",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--other", type=Path, help="another checkout, measured by turns with this one")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--phone", action="store_true", help="390 px instead of 1400")
    parser.add_argument("--viewers", type=int, default=0, help="open Runs at once, after the table")
    parser.add_argument("--shifts", action="store_true", help="print what moved, to stderr")
    arguments = parser.parse_args()
    roots = {"this": ROOT} | ({"other": arguments.other.resolve()} if arguments.other else {})
    viewport = PHONE if arguments.phone else DESKTOP
    checkouts = list[Checkout]()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
        try:
            checkouts += [filled_checkout(name, root, Path(folder) / name) for name, root in roots.items()]
            for turn in range(arguments.turns + 1):  # the first warms up
                for page_name in CONTENT:
                    for checkout in checkouts:
                        visit = visited(browser, checkout, page_name, viewport, arguments.shifts and turn == 1)
                        if turn:
                            checkout.visits.setdefault(page_name, []).append(visit)
            print_table(checkouts, viewport["width"])
            if arguments.viewers:
                print_viewers(checkouts, arguments.viewers, arguments.turns)
        finally:
            for checkout in checkouts:
                checkout.pitwall.end_everything()
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
