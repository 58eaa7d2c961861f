"""Cost of Compare's queries about two runs with 10 stored runs, and with many.

    python -m benchmarks.questions_at_scale [runs]

All runs are synthetic and equal: ten minutes of a vLLM server's counters once a second, its log every ten seconds, 50
requests. All have ended and are sealed except the last eight, which are live. The queries are about one run of each
kind.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from domain import Config, Run
from load_records import RequestRecord
from samples import Batch, CounterSample, LogSample, Sample
from settings import Settings
from storage.queries import load_queries, run_data
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECONDS = 600
LIVE = 8
TURNS = 7
FEW = 10
QUESTIONS: Mapping[str, Callable[[Store, list[str]], object]] = {
    "windows of 2 s": lambda store, ids: run_data.windows(store, ids, 2.0),
    "acceptance": run_data.acceptance,
    "log against counters": run_data.crosschecks,
    "sources": run_data.sources,
    "requests": run_data.request_totals,
    "loads": load_queries.loads,
}


def samples_of(run_id: str) -> Iterator[Sample]:
    """Yield samples of a server that decodes one request at 100 tok/s in 50 steps/s."""
    for second in range(SECONDS):
        ts, n = NOW + timedelta(seconds=second + 1), float(second)
        yield CounterSample(
            run_id, ts, n, "vllm.counter", generation_tokens_total=100 * n, first_tokens_total=1.0,
            inter_token_count_total=50 * n, prompt_tokens_total=100.0, requests_running=1.0, drafts_total=50 * n,
            draft_tokens_total=150 * n, accepted_tokens_total=50 * n, accepted_per_pos_total=[40 * n, 10 * n],
        )  # fmt: skip
        if second % 10 == 0:
            yield LogSample(
                run_id, ts, second, second, "vllm.log", generation_tps=100.0, prompt_tps=0.0, requests_running=1.0,
                accepted_tokens=500.0, drafted_tokens=1500.0, acceptance_length=2.0,
            )  # fmt: skip
        if second % 12 == 0:
            yield RequestRecord(run_id, str(second), "w", "measure", "prose", 0, 1, ts, ttft_ms=50.0)


def stored(folder: Path, runs: int) -> Store:
    """Return a store with this many runs, of which the last eight are live."""
    store = Store.open(Settings(data_dir=folder), clock=lambda: NOW + timedelta(seconds=SECONDS + 120))
    for number in range(runs):
        run_id = f"run-{number:04}"
        ended_at = NOW + timedelta(seconds=SECONDS) if number < runs - LIVE else None
        run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id=run_id, created_at=NOW, ready_at=NOW)
        store.write(Batch(tuple(samples_of(run_id))))
        store.save_run(run.model_copy(update={"ended_at": ended_at}))
        if number % 20 == 0:
            store.seal()
    while store.seal():
        pass
    return store


def milliseconds(ask: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    ask()
    return (time.perf_counter() - began_s) * 1e3


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stores = {count: stored(Path(folder) / str(count), count) for count in (FEW, runs)}
        print(f"| question about two runs | {FEW} runs stored | {runs:,} runs stored | ratio |")
        print("|---|---|---|---|")
        sums = dict.fromkeys(stores, 0.0)
        for name, ask in QUESTIONS.items():
            durations: dict[int, list[float]] = {count: [] for count in stores}
            for _ in range(TURNS):  # in turns, for what else the machine does changes too
                for count, store in stores.items():
                    ids = ["run-0000", f"run-{count - 1:04}"]
                    durations[count].append(milliseconds(lambda: ask(store, ids)))  # noqa: B023
            middle = {count: statistics.median(values) for count, values in durations.items()}
            sums = {count: sums[count] + middle[count] for count in stores}
            print(_row(name, middle[FEW], middle[runs]))
        print(_row("all of them", sums[FEW], sums[runs]))
        for store in stores.values():
            store.close()
    print(f"\nload average {os.getloadavg()[0]:.0f}")


def _row(name: str, few: float, many: float) -> str:
    return f"| {name} | {few:.0f} ms | {many:,.0f} ms | {many / few:.2f} |"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
