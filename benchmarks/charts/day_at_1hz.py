"""Cost of 24-hour runs at one sample per second: answers to `GET /series`, and panning in Chromium.

    python -m benchmarks.charts.day_at_1hz [--runs 8] [--turns 7]

The rows are synthetic and imported as bundles: counters of vLLM, the host and a GPU. The browser's figures come from
the Performance domain of Chromium's DevTools protocol: the wall time of tasks, including waits for a core, and the
thread's CPU time. Panning is done with the mouse, as a person does it, and by Plotly's relayout.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from playwright.sync_api import CDPSession, Page, sync_playwright

from domain import Config, Run, RunState
from scripts.find_browser import installed
from settings import Settings
from storage.files.seal import SealedDraft
from storage.queries.literals import quoted
from storage.store import Store
from tests.e2e.conftest import signed_in
from tests.e2e.pitwall_process import Pitwall
from tests.ports import free_ports
from web.live.finished_charts import FinishedCharts
from web.live.reader import StoreReader

SECONDS = 86_400
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
STRETCHES = {"10 minutes": timedelta(minutes=10), "2 hours": timedelta(hours=2), "12 hours": timedelta(hours=12)}
# What DuckDB alone needs for the increments of the counters between two rows, and each bucket's extremes of one rate.
BARE = """
    SELECT run_id, floor(mono_s / 86) AS bucket, min(generation / dt_s), max(generation / dt_s), sum(steps),
        sum(prompt), sum(drafts), sum(accepted)
    FROM (
        SELECT run_id, mono_s, mono_s - lag(mono_s) OVER rows AS dt_s,
            generation_tokens_total - lag(generation_tokens_total) OVER rows AS generation,
            inter_token_count_total - lag(inter_token_count_total) OVER rows AS steps,
            prompt_tokens_total - lag(prompt_tokens_total) OVER rows AS prompt,
            drafts_total - lag(drafts_total) OVER rows AS drafts,
            accepted_tokens_total - lag(accepted_tokens_total) OVER rows AS accepted
        FROM counter_samples WHERE list_contains($run_ids, run_id)
        WINDOW rows AS (PARTITION BY run_id, definition, engine_index ORDER BY mono_s)
    ) GROUP BY ALL
"""
FRAMES = 60
SETTLED_MS = 3_000
PATIENCE_MS = 600_000  # for the first drawing on a busy machine
# A rate that comes and goes with the hours, idle for a minute in ten; each of the tables has a row a second. Counters
# are whole numbers, for sums of fractions go back by a rounding now and then, which is a restart of the server.
COUNTERS = """
    SELECT $id AS run_id, ts, mono_s, 'vllm.counter' AS definition, 0 AS engine_index,
        3 * sum(steps) OVER so_far AS generation_tokens_total, floor(mono_s / 30) AS first_tokens_total,
        sum(steps) OVER so_far AS inter_token_count_total, 900 * floor(mono_s / 30) AS prompt_tokens_total,
        sum(steps) OVER so_far AS drafts_total, 3 * sum(steps) OVER so_far AS draft_tokens_total,
        2 * sum(steps) OVER so_far AS accepted_tokens_total, 4.0 * busy::INT AS requests_running,
        0.0 AS requests_waiting, 0.3 + 0.2 * sin(mono_s / 900) AS kv_usage_ratio
    FROM (SELECT *, busy::INT * (100 + 27 * sin(mono_s / 1800 + $k) + 7 * random())::INT AS steps FROM moments)
    WINDOW so_far AS (ORDER BY mono_s)
"""
HOST = """
    SELECT $id AS run_id, ts, mono_s, 'm' AS machine_id, 5 AS process_count, 1 + random() AS cpu_ratio,
        (4e9 + 1e8 * random())::BIGINT AS rss_bytes, 0.3 + 0.1 * random() AS host_cpu_ratio, 16 AS host_cores,
        (2e10 + 1e8 * random())::BIGINT AS host_memory_used_bytes FROM moments
"""
GPU = """
    SELECT $id AS run_id, ts, mono_s, 'm' AS machine_id, 0 AS gpu_index, 300 + 90 * random() AS power_w,
        1900 + 80 * random() AS sm_clock_mhz, 0::BIGINT AS throttle_reasons FROM moments
"""
MOMENTS = f"""
    CREATE TABLE moments AS SELECT i::DOUBLE AS mono_s, (i // 60) % 10 <> 9 AS busy,
        TIMESTAMPTZ {quoted(BEGAN.isoformat())} + to_seconds(i) AS ts FROM range({SECONDS}) AS t(i)
"""
DRAWN = (
    """() => [...document.querySelectorAll('.lv-plot')].some((plot) => plot.data?.length >= %d && plot._fullLayout)"""
)
FRAME = "() => new Promise(requestAnimationFrame)"
WIDE = "document.querySelector('.lv-wide .lv-plot')"
STANDS_AT = f"{WIDE}._fullLayout.xaxis.range.join()"
# The others follow when the reader lets go.
ALL_STAND = f"""() => [...document.querySelectorAll('.lv-plot')]
  .filter((plot) => plot.clientHeight && plot.data?.[0]?.type === "scatter")
  .every((plot) => plot._fullLayout.xaxis.range.join() === {STANDS_AT})"""
# One chart as the page moves it, or as Plotly reports it: the others follow at each frame.
PAN = """async (frames) => {
  const plot = [...document.querySelectorAll('.lv-plot')].find((one) => one.data && one.clientHeight);
  const took = [];
  for (let frame = 0; frame < frames; frame += 1) {
    const [low, high] = plot._fullLayout.xaxis.range;
    const by = ((high - low) / 200) * (frame < frames / 2 ? 1 : -1);
    await new Promise(requestAnimationFrame);
    const begun = performance.now();
    await Plotly.relayout(plot, %s);
    took.push(performance.now() - begun);
  }
  return { took, points: plot.data.reduce((sum, one) => sum + one.x.length, 0) };
}"""
# Plotly's event of a pan that was let go names both ends and moves the other charts; a range set as one is none.
MOVES = {
    "one chart, by relayout": "{ 'xaxis.range': [low + by, high + by] }",
    "all charts of the page, by relayout": "{ 'xaxis.range[0]': low + by, 'xaxis.range[1]': high + by }",
}


def filled(data: Path, folder: Path, count: int) -> list[str]:
    """Import this many runs; return their ids."""
    store, run_ids = Store.open(Settings(data_dir=data)), []
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(MOMENTS)
        for number in range(count):
            run = _run(number)
            run_ids.append(run.id)
            tables = {"counter_samples": COUNTERS, "host_samples": HOST, "gpu_samples": GPU}
            store.adopt_runs([run], [_draft(connection, run.id, number, *table, folder) for table in tables.items()])
    while store.merge():
        pass
    store.close()
    return run_ids


def _run(number: int) -> Run:
    return Run(
        id=f"day-{number}", name=f"day {number}", color=number % 8, state=RunState.FINISHED, machine_id="m",
        config=Config(engine="vllm"), created_at=BEGAN, started_at=BEGAN, ready_at=BEGAN,
        ended_at=BEGAN + timedelta(seconds=SECONDS),
    )  # fmt: skip


def _draft(
    connection: duckdb.DuckDBPyConnection, run_id: str, number: int, table: str, sql: str, folder: Path
) -> SealedDraft:
    path = folder / f"{table}-{run_id}.parquet"
    rows = sql.replace("$id", quoted(run_id)).replace("$k", str(number))
    connection.execute(f"COPY ({rows} ORDER BY ts) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    return SealedDraft(table, run_id, path, SECONDS)


def questions(store: Store, run_ids: list[str]) -> Mapping[str, Callable[[], object]]:
    """Return the charts' queries: the whole day, and intervals from its middle."""
    reader, middle = StoreReader(lambda: store), BEGAN + timedelta(seconds=SECONDS / 2)

    def stretch(length: timedelta) -> Callable[[], object]:
        return lambda: [reader.interval_series(run_id, middle, middle + length) for run_id in run_ids]

    caching_reader = StoreReader(lambda: store, finished=FinishedCharts())
    return {
        "the whole day, as if for the first time": lambda: reader.chart_parts(run_ids),
        "of which DuckDB alone, the increments of six counters": lambda: store.query(BARE, {"run_ids": run_ids}),
        "the whole day, again": lambda: caching_reader.chart_parts(run_ids),
    } | {name: stretch(length) for name, length in STRETCHES.items()}


def measure_server(data: Path, run_ids: list[str], turns: int) -> None:
    store = Store.open(Settings(data_dir=data))
    print(f"| asked of {len(run_ids)} runs | p50 | worst | CPU |\n|---|---|---|---|")
    for name, ask in questions(store, run_ids).items():
        began_cpu_s = time.process_time()
        durations = [_seconds(ask) for _ in range(turns)]
        cpu_s = (time.process_time() - began_cpu_s) / turns
        times = f"{statistics.median(durations) * 1e3:,.0f} ms | {max(durations) * 1e3:,.0f} ms"
        print(f"| {name} | {times} | {cpu_s * 1e3:,.0f} ms |", flush=True)
    store.close()


def _seconds(ask: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    ask()
    return time.perf_counter() - began_s


def measure_browser(data: Path, run_ids: Sequence[str]) -> None:
    """Pan Live over these runs, and print the main thread's time per frame."""
    pitwall = Pitwall(data, free_ports(1)[0])
    pitwall.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--disable-gpu"])
            page = signed_in(browser, pitwall, viewport={"width": 1400, "height": 900}).new_page()
            began_s = time.monotonic()
            page.goto(f"{pitwall.url}/live?{'&'.join(f'run={run_id}' for run_id in run_ids)}")
            page.wait_for_function(DRAWN % len(run_ids), timeout=PATIENCE_MS)
            print(f"\ndrawn {time.monotonic() - began_s:.1f} s after the link was opened\n")
            print("| panned | points drawn in it | main thread a frame | CPU of it | relayout p50 | p95 |")
            print("|---|---|---|---|---|---|")
            print(_dragged(page), flush=True)
            for title, move in MOVES.items():
                print(_panned(page, title, move), flush=True)
            browser.close()
    finally:
        pitwall.end_everything()


def _dragged(page: Page) -> str:
    """Return two rows: dragging with Shift held, and releasing until all charts are updated."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable")
    _drag(page, 10)
    page.mouse.up()
    page.wait_for_function(ALL_STAND, timeout=PATIENCE_MS)
    page.wait_for_timeout(SETTLED_MS)  # a finer stretch was asked for and drawn
    stood, points = page.evaluate(STANDS_AT), page.evaluate(f"{WIDE}.data.reduce((sum, one) => sum + one.x.length, 0)")
    before = _metrics(cdp)
    _drag(page, FRAMES)
    metrics_before = _metrics(cdp)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function(ALL_STAND, timeout=PATIENCE_MS)
    let_go = _metrics(cdp)
    cdp.detach()
    assert page.evaluate(STANDS_AT) != stood, "the mouse did not pan"
    return (
        f"| one chart, with the mouse | {points:,} | {_ms(before, metrics_before, 'TaskDuration') / FRAMES:.1f} ms "
        f"| {_ms(before, metrics_before, 'ThreadTime') / FRAMES:.1f} ms | | |\n"
        f"| letting go of it, once | | {_ms(metrics_before, let_go, 'TaskDuration'):.0f} ms "
        f"| {_ms(metrics_before, let_go, 'ThreadTime'):.0f} ms | | |"
    )


def _drag(page: Page, frames: int) -> None:
    """Drag left and half way back, one step per frame; with Shift, Plotly pans instead of zooming."""
    box = page.locator(".lv-wide .nsewdrag").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(x, y)
    page.mouse.down()
    for frame in range(frames):
        page.mouse.move(x - 4 * min(frame + 1, frames * 1.25 - frame), y)
        page.evaluate(FRAME)


def _ms(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return (after[name] - before[name]) * 1e3


def _panned(page: Page, title: str, move: str) -> str:
    """Return a row: Chromium's task time over the frames, and the part of the relayouts."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable")
    page.evaluate(PAN % move, 10)  # what is compiled at the first is not panning
    before = _metrics(cdp)
    measured = page.evaluate(PAN % move, FRAMES)
    after = _metrics(cdp)
    cdp.detach()
    took = sorted(measured["took"])
    return (
        f"| {title} | {measured['points']:,} | {_ms(before, after, 'TaskDuration') / FRAMES:.1f} ms "
        f"| {_ms(before, after, 'ThreadTime') / FRAMES:.1f} ms "
        f"| {statistics.median(took):.1f} ms | {took[int(len(took) * 0.95)]:.1f} ms |"
    )


def _metrics(cdp: CDPSession) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in cdp.send("Performance.getMetrics")["metrics"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_ids = filled(folder / "data", folder, arguments.runs)
        measure_server(folder / "data", run_ids, arguments.turns)
        measure_browser(folder / "data", run_ids)
        print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
