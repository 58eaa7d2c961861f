"""Response times of a whole Pitwall with many stored runs: its pages, its push and its viewers, over the network."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx
import psutil
from websockets.sync.client import connect

from analysis.evidence.measure import quantile
from benchmarks.scale.many_runs import ARMS, spread
from domain import Run
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.streamlit_client import by_hand, pages
from tests.ports import free_ports

EVERY_S = 0.1
LIVE_WAIT_S = 120.0
PUSHED, VIEWED = 100, 50  # the turns whose runs the push and the many viewers are shown


class Peak:
    """Peak memory of a process."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @contextmanager
    def watched(self) -> Iterator[None]:
        self._thread.start()
        yield
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            self.bytes = max(self.bytes, self._process.memory_info().rss)


def measure_served(data: Path, runs: Sequence[Run], turns: int, viewers: int) -> None:
    """Print the times of a Pitwall on this store."""
    pitwall = Pitwall(data, free_ports(1)[0])
    began_s = time.perf_counter()
    pitwall.start()
    try:
        print(f"\nup {time.perf_counter() - began_s:.1f} s after its start\n")
        assert pitwall.process
        cookie = _cookie(pitwall)
        peak = Peak(pitwall.process.pid)
        with peak.watched():
            _measure_pages(pitwall, cookie, runs, turns)
            resident = psutil.Process(pitwall.process.pid).memory_info().rss
            print(f"\nresident after that {resident / 1e6:.0f} MB, at its most {peak.bytes / 1e6:.0f} MB\n")
            _measure_viewers(pitwall, cookie, runs, viewers)
        print(f"\nresident at its most {peak.bytes / 1e6:.0f} MB")
    finally:
        pitwall.end_everything()


def _cookie(pitwall: Pitwall) -> str:
    answer = httpx.get(f"{pitwall.url}/?token={pitwall.token}")
    return answer.headers["set-cookie"].split(";")[0]


def _measure_pages(pitwall: Pitwall, cookie: str, runs: Sequence[Run], turns: int) -> None:
    """Measure complete pages as Streamlit answers them, and Live's push, with other runs each time."""
    with by_hand(pitwall.url, cookie) as session:
        page_names = pages(session.rerun())

        def page(name: str, runs_shown: Sequence[Run] = ()) -> None:
            session.rerun(
                query=urlencode([("run", run.id) for run in runs_shown]), page_hash=page_names.get(name, "")
            )  # the first

        print("| asked over the wire | p50 | p95 |\n|---|---|---|")
        _row("Runs page, whole", [_ms(lambda: page("runs")) for _ in range(turns)])
        of_runs = f"page of {ARMS} runs, others each time, whole"
        for name in ("compare", "live"):
            durations = [_ms(partial(page, name, spread(runs, turn=turn))) for turn in range(turns)]
            _row(f"{name.capitalize()} {of_runs}", durations)
    selections = [spread(runs, turn=PUSHED + turn) for turn in range(turns)]
    _row(
        f"Live's push of {ARMS} ghosts, others each time",
        [_ms(lambda s=some: _watch(pitwall, cookie, s)) for some in selections],
    )
    _row("the same, shown before", [_ms(lambda: _watch(pitwall, cookie, selections[0])) for _ in range(turns)])


def _measure_viewers(pitwall: Pitwall, cookie: str, runs: Sequence[Run], viewers: int) -> None:
    """Measure all viewers at once: each opens the Runs page, or Live with 8 ghosts."""
    ghosts = spread(runs, turn=VIEWED)

    def open_runs() -> None:
        with by_hand(pitwall.url, cookie) as session:
            session.rerun()

    print(f"| {viewers} at once | p50 | p95 | worst |\n|---|---|---|---|")
    requests: dict[str, Callable[[], None]] = {
        "each opens the Runs page": open_runs,
        f"each is pushed the same {ARMS} ghosts": partial(_watch, pitwall, cookie, ghosts),
    }
    for title, ask in requests.items():
        with ThreadPoolExecutor(viewers) as pool:
            durations = list(pool.map(_ms, [ask] * viewers))
        p50_ms, p95_ms = quantile(durations, 0.5), quantile(durations, 0.95)
        print(f"| {title} | {p50_ms:.0f} ms | {p95_ms:.0f} ms | {max(durations):.0f} ms |")


def _watch(pitwall: Pitwall, cookie: str, runs: Sequence[Run]) -> None:
    """Wait until all of these runs have been pushed."""
    query = urlencode([("run", run.id) for run in runs])
    address = f"{pitwall.url.replace('http', 'ws', 1)}/ws/live?{query}"
    with connect(address, additional_headers={"cookie": cookie}, max_size=None) as socket:
        socket.send("{}")
        waiting = {run.id for run in runs}
        while waiting:
            message = json.loads(socket.recv(timeout=LIVE_WAIT_S))
            if message["type"] == "snapshot":
                waiting.discard(message["run"])


def _ms(ask: Callable[[], None]) -> float:
    began_s = time.perf_counter()
    ask()
    return (time.perf_counter() - began_s) * 1e3


def _row(title: str, durations: Sequence[float]) -> None:
    print(f"| {title} | {quantile(durations, 0.5):.0f} ms | {quantile(durations, 0.95):.0f} ms |", flush=True)
