"""Activity of a run known only by its log: the windows in which it only decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.logs.log_collector import log_reader
from domain import Config, Run
from reasons import Code, Reason
from reports.runs.run_report import PEAK_WINDOW_S, report_on
from samples import Batch, CounterSample, LogSample
from storage.queries import run_data
from storage.store import Store
from web.context import Services, provide

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture
def provided() -> Iterator[Callable[[Services], None]]:
    """What the pages work with, for one test."""
    yield provide
    provide(None)


def run_of(engine: str, **fields: Any) -> Run:
    given_fields = {"created_at": NOW, "ready_at": NOW} | fields
    return Run(id="r1", name="r1", color=0, config=Config(engine=engine), machine_id="m", **given_fields)


def save_samples(store: Store, engine: str, *samples: Any) -> None:
    store.write(Batch(samples))
    store.save_run(run_of(engine))


def vllm(second: float, tokens: float, prompt: float = 0.0, running: float = 1.0, rank: int = 0) -> LogSample:
    """A periodic line over the 10 s before it."""
    return LogSample(
        "r1", NOW + timedelta(seconds=second), int(second * 10) + rank, int(second), "vllm.log", engine_index=rank,
        window_s=10.0, generation_tps=tokens, prompt_tps=prompt, requests_running=running,
    )  # fmt: skip


def sglang(second: float, kind: str, tokens: float | None = None) -> LogSample:
    when = NOW + timedelta(seconds=second)
    return LogSample("r1", when, int(second), int(second), "sglang.log", kind=kind, rank="TP0", generation_tps=tokens)


def activities(store: Store) -> list[str | None]:
    return list(store.query("SELECT activity FROM run_samples ORDER BY ts, engine_index")["activity"].to_pylist())


@pytest.mark.parametrize(
    ("before", "line", "activity"),
    [
        (vllm(10, 50), vllm(20, 50), "active"),
        (vllm(10, 50, prompt=9), vllm(20, 50), "active"),
        (vllm(10, 50), vllm(20, 50, prompt=0.1), "mixed"),
        (vllm(10, 50), vllm(20, 50, running=0), "mixed"),
        (vllm(10, 0, running=0), vllm(20, 50), "mixed"),
        (vllm(10, 50), vllm(20, 0, prompt=9), "prefill"),
        (vllm(10, 50), vllm(20, 0), "prefill"),
        (vllm(10, 50), vllm(20, 0, running=0), "idle"),
    ],
)
def test_vllm_line_is_judged_with_its_predecessor(
    store: Store, before: LogSample, line: LogSample, activity: str
) -> None:
    save_samples(store, "vllm", before, line)
    assert activities(store)[1] == activity


def test_time_before_first_line_is_unknown(store: Store) -> None:
    save_samples(store, "vllm", *(vllm(s, 50) for s in (10, 20, 30, 200, 210)))
    assert activities(store) == ["mixed", "active", "active", "mixed", "active"]


def test_line_without_rate_does_not_separate(store: Store) -> None:
    alone = LogSample("r1", NOW + timedelta(seconds=15), 15, 15, "vllm.log", window_s=10.0, accepted_tokens=9.0)
    save_samples(store, "vllm", vllm(10, 50), alone, vllm(20, 50))
    assert activities(store) == ["mixed", None, "active"]


def test_sglang_first_decode_line_includes_gap(store: Store) -> None:
    kinds = (
        (1, "prefill"),
        (5, "decode"),
        (7, "decode"),
        (8, "prefill"),
        (9, "decode"),
        (11, "decode"),
        (99, "decode"),
    )
    save_samples(store, "sglang", *(sglang(s, kind, 80.0 if kind == "decode" else None) for s, kind in kinds))
    assert activities(store) == ["prefill", "mixed", "active", "prefill", "mixed", "active", "mixed"]


def test_a_window_of_a_log_is_the_lines_own(store: Store) -> None:
    save_samples(store, "sglang", *(sglang(s, "decode", 80.0) for s in (2, 4, 7)))
    [second, third] = run_data.windows(store, ["r1"], PEAK_WINDOW_S)["r1"]
    assert (second.dt_s, second.tokens, second.window_s) == (2, 160, None)
    assert (third.dt_s, third.tokens, third.activity, third.definition) == (3, 240, "active", "sglang.log")


def test_log_alone_gives_speed_and_its_basis(store: Store, provided: Callable[[Services], None]) -> None:
    save_samples(store, "vllm", *(vllm(10 * i, 40.0 + i) for i in range(1, 7)))
    provided(cast(Services, SimpleNamespace(store=store)))
    summary = report_on(store, store.runs())[0].summary
    assert (summary.window_s, summary.definition, summary.active_windows, summary.excluded_windows) == (
        10,
        "vllm.log",
        5,
        1,
    )
    assert summary.alone.typical_tps == 44
    assert summary.factors is not None and summary.factors.decode_tps == pytest.approx(44)
    assert summary.factors.steps_per_s is None and summary.factors.reason == Reason(Code.NO_STEP_COUNTER)


def test_counters_beat_the_log_even_if_few(store: Store) -> None:
    counted = [
        CounterSample("r1", NOW + timedelta(seconds=s), s, "vllm.counter", generation_tokens_total=50.0 * s,
                      first_tokens_total=1.0, requests_running=1.0)
        for s in (1, 3)
    ]  # fmt: skip
    save_samples(store, "vllm", *counted, *(vllm(10 * i, 40.0) for i in range(1, 7)))
    assert {row.definition for row in run_data.windows(store, ["r1"], PEAK_WINDOW_S)["r1"]} == {"vllm.counter"}
    assert run_data.recent_speed(store, ["r1"], 1e9)["r1"] == [50.0]


def take_in(store: Store, engine: str, log: Path, **fields: Any) -> None:
    """A whole log as the collector reads it."""
    run = run_of(engine, **fields)
    reader = log_reader(run)
    now = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
    placed = [*reader.feed(log.read_bytes(), run, now), *reader.close(run, now)]
    store.write(Batch(tuple(p.sample for p in placed)))
    store.save_run(run)


def test_llamacpp_log_gives_window_per_request(store: Store) -> None:
    began = datetime(2026, 11, 20, tzinfo=UTC)
    take_in(store, "llamacpp", FIXTURES / "llamacpp/plain.log", ready_at=began, pid=1, pid_started_at=began.timestamp())
    rows = run_data.windows(store, ["r1"], PEAK_WINDOW_S)["r1"]
    printed = store.query("SELECT generated_tokens, generation_tps FROM log_samples ORDER BY ts").to_pylist()
    told = [row for row in printed if row["generation_tps"] is not None]
    assert [row.activity for row in rows] == ["active"] * len(told) and told
    assert [row.tokens for row in rows] == pytest.approx([row["generated_tokens"] for row in told])


def test_a_real_sglang_log(store: Store) -> None:
    take_in(store, "sglang", FIXTURES / "sglang/0.5.23-cpu.log")
    decode = [a for a in activities(store) if a != "prefill"]
    assert decode == ["mixed", "active"]


def test_vllm_log_under_varied_load_is_not_pure(store: Store) -> None:
    take_in(store, "vllm", FIXTURES / "vllm/0.32-ngram.log")
    assert activities(store) == [*["mixed"] * 6, "idle", *["mixed"] * 3, "prefill"]
