"""A whole Pitwall over a store of many runs: what its pages, its push and its viewers take, over the wire."""

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
    """The most memory that a process was seen to hold."""

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
    """Print what a Pitwall on this store takes."""
    pitwall = Pitwall(data, free_ports(1)[0])
    begun = time.perf_counter()
    pitwall.start()
    try:
        print(f"\nup {time.perf_counter() - begun:.1f} s after its start\n")
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
    """Whole pages as Streamlit answers them, and Live's push: of other runs each time."""
    with by_hand(pitwall.url, cookie) as session:
        known = pages(session.rerun())

        def page(name: str, shown: Sequence[Run] = ()) -> None:
            session.rerun(
                query=urlencode([("run", run.id) for run in shown]), page_hash=known.get(name, "")
            )  # the first

        print("| asked over the wire | p50 | p95 |\n|---|---|---|")
        _row("Runs page, whole", [_ms(lambda: page("runs")) for _ in range(turns)])
        of_runs = f"page of {ARMS} runs, others each time, whole"
        for name in ("compare", "live"):
            taken = [_ms(partial(page, name, spread(runs, turn=turn))) for turn in range(turns)]
            _row(f"{name.capitalize()} {of_runs}", taken)
    shown = [spread(runs, turn=PUSHED + turn) for turn in range(turns)]
    _row(
        f"Live's push of {ARMS} ghosts, others each time",
        [_ms(lambda s=some: _watch(pitwall, cookie, s)) for some in shown],
    )
    _row("the same, shown before", [_ms(lambda: _watch(pitwall, cookie, shown[0])) for _ in range(turns)])


def _measure_viewers(pitwall: Pitwall, cookie: str, runs: Sequence[Run], viewers: int) -> None:
    """All at once: each opens the Runs page, or Live of 8 ghosts."""
    ghosts = spread(runs, turn=VIEWED)

    def open_runs() -> None:
        with by_hand(pitwall.url, cookie) as session:
            session.rerun()

    print(f"| {viewers} at once | p50 | p95 | worst |\n|---|---|---|---|")
    asked: dict[str, Callable[[], None]] = {
        "each opens the Runs page": open_runs,
        f"each is pushed the same {ARMS} ghosts": partial(_watch, pitwall, cookie, ghosts),
    }
    for what, ask in asked.items():
        with ThreadPoolExecutor(viewers) as pool:
            taken = list(pool.map(_ms, [ask] * viewers))
        print(f"| {what} | {quantile(taken, 0.5):.0f} ms | {quantile(taken, 0.95):.0f} ms | {max(taken):.0f} ms |")


def _watch(pitwall: Pitwall, cookie: str, runs: Sequence[Run]) -> None:
    """Until all of these runs have been pushed."""
    query = urlencode([("run", run.id) for run in runs])
    address = f"{pitwall.url.replace('http', 'ws', 1)}/ws/live?{query}"
    with connect(address, additional_headers={"cookie": cookie}, max_size=None) as socket:
        socket.send("{}")
        left = {run.id for run in runs}
        while left:
            message = json.loads(socket.recv(timeout=LIVE_WAIT_S))
            if message["type"] == "snapshot":
                left.discard(message["run"])


def _ms(ask: Callable[[], None]) -> float:
    begun = time.perf_counter()
    ask()
    return (time.perf_counter() - begun) * 1e3


def _row(what: str, taken: Sequence[float]) -> None:
    print(f"| {what} | {quantile(taken, 0.5):.0f} ms | {quantile(taken, 0.95):.0f} ms |", flush=True)
