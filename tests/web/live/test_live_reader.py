"""Live's data of an ended run cover the whole run."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from analysis.metrics.registry import MetricId
from collectors.logs.log_view import ViewLine
from domain import Config, Run, RunState
from machine.identity import machine_id
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_line import compute_lines
from reports.runs.run_report import report_on
from samples import Batch, CounterSample, GpuSample, LatencySample, LogSample
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from web.live.log_reads import HANGS, LogReads, LogView
from web.live.log_reads import open_log_view as real_view
from web.live.protocol import encode
from web.live.reader import Cursor, StoreReader

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RATES = [100.0, 100.0, 100.0, 100.0, 5.0]


def counters(second: int) -> CounterSample:
    total = sum(RATES[:second])
    return CounterSample(
        "r1", T0 + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=total,
        first_tokens_total=0.0, inter_token_count_total=total, prompt_tokens_total=0.0, requests_running=1.0,
    )  # fmt: skip


def test_run_numbers_are_not_the_last_seconds(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        store.write(Batch(tuple(counters(second) for second in range(len(RATES) + 1))))
        store.save_run(
            Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0,
                state=RunState.FINISHED)
        )  # fmt: skip
        cursor = Cursor(engine=(T0 + timedelta(seconds=4)).isoformat())
        part = StoreReader(lambda: store).since({"r1": cursor.text()})["r1"]
        assert part["series"]["decode_tps"]["v"] == [5.0], "only what is new is sent"
        assert part["now"]["decode_tps"]["v"] == pytest.approx(sum(RATES) / len(RATES)), "as on Compare"
    finally:
        store.close()


def test_remote_run_names_machine_without_host(store: Store) -> None:
    places = {"here": machine_id(), "there": "b0b0b0b0b0b0", "named": "c0c0c0c0c0c0", "url": "remote-box.lan"}
    for name, place in places.items():
        store.save_run(run_with(name).model_copy(update={"machine_id": place}))
    store.save_run(run_with("log").model_copy(update={"machine_id": "b0b0b0b0b0b0", "kind": "imported"}))
    store.label_machine("c0c0c0c0c0c0", "Rack 2")
    reader = StoreReader(lambda: store)
    for parts in (reader.snapshots([*places, "log"]), reader.chart_parts([*places, "log"])):
        chips_by_run_id = {
            run_id: [chip for chip in part["meta"]["chips"] if chip.startswith("on ")] for run_id, part in parts.items()
        }
        assert chips_by_run_id == {
            "here": [], "log": [], "there": ["on b0b0b0b0b0b0"], "named": ["on Rack 2"], "url": ["on a remote machine"],
        }  # fmt: skip


def test_tile_without_number_says_why(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        fell = replace(counters(6), generation_tokens_total=1.0)
        store.write(Batch((*(counters(second) for second in range(6)), fell)))
        store.save_run(run_with("r1"))
        tile = StoreReader(lambda: store).snapshots(["r1"])["r1"]["now"]["decode_tps"]
        assert (tile["v"], tile["why"]) == (None, "its counters were reset")
    finally:
        store.close()


def test_log_line_has_time_and_warning_sentence(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 11-20 12:00:07 [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 107.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
        "(EngineCore pid=1) ERROR 11-20 12:00:09 [core.py:1] torch.OutOfMemoryError: CUDA out of memory.\n"
        "nothing in particular\n"
    )
    run = Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0, started_at=T0,
              pid_started_at=T0.timestamp(), ended_at=T0 + timedelta(seconds=20), log_path=str(log),
              state=RunState.FAILED)  # fmt: skip
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        for kind in ("launched", "imported"):
            store.save_run(run.model_copy(update={"kind": kind}))
            part = StoreReader(lambda: store).snapshots(["r1"])["r1"]
            times = {number: line["t"] for number, line in enumerate(part["log"], 1)}
            stamped = None if kind == "imported" else (T0 + timedelta(seconds=7)).timestamp()
            assert (times[1], times[3]) == (stamped, None), kind
        assert "memory" in str(part["log"][1]["why"]) and part["log"][0]["why"] is None
    finally:
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    yield store
    store.close()


def run_with(run_id: str, log: Path | None = None, state: RunState = RunState.RUNNING) -> Run:
    return Run(id=run_id, name=run_id, color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0,
               started_at=T0, state=state, log_path=str(log) if log else None)  # fmt: skip


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.FINISHED])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_store_with_non_json_numbers_is_watched(store: Store, number: float, state: RunState) -> None:
    store.save_run(run_with("r1", state=state))
    rows = [counters(second) for second in range(6)]
    rows[2] = replace(rows[2], generation_tokens_total=number)
    rows[5] = replace(rows[5], kv_usage_ratio=number, requests_running=number, accept_length_gauge=number)
    gpu = GpuSample("r1", T0, 1.0, "m", 0, power_w=number)
    log = LogSample("r1", T0, 0, 1, "vllm.log", acceptance_length=number, per_position=[0.5, number])
    store.write(Batch((*rows, gpu, log))).result()
    part = StoreReader(lambda: store).snapshots(["r1"])["r1"]
    assert "NaN" not in encode("snapshot", 0.0, run="r1", seq=0, **part)
    assert None in part["series"]["gpu_power_w"]["v"]
    assert 100.0 in part["series"]["decode_tps"]["v"]


class Hanging:
    """A FAKE view of a log on a disk that hangs: the look at it does not come back before the test's end."""

    def __init__(self, over: threading.Event) -> None:
        self.problem: str | None = None
        self.shown_range = None
        self.asked = 0
        self._over = over

    def lines(self, limit: int, since: int | None) -> list[ViewLine]:
        self.asked += 1
        self._over.wait(60)
        return []


def test_hanging_log_is_skipped_and_reported(store: Store, tmp_path: Path) -> None:
    good = tmp_path / "good.log"
    good.write_text("one\ntwo\n")
    for run_id in ("bad", "good"):
        store.save_run(run_with(run_id, good))
    over = threading.Event()
    hanging = Hanging(over)
    reads = LogReads(lambda run: hanging if run.id == "bad" else real_view(run), wait_s=0.2)
    reader = StoreReader(lambda: store, reads)
    for _ in range(3):
        parts = reader.snapshots(["bad", "good"])
        assert [line["text"] for line in parts["good"]["log"]] == ["one", "two"]
        assert parts["bad"]["log"] == [] and parts["bad"]["meta"]["absent"]["log"] == HANGS
        assert "log" not in parts["good"]["meta"]["absent"]
    assert hanging.asked == 1, "one thread hangs, not one for every look"
    over.set()


@pytest.mark.wide
def test_working_log_is_shown_beside_hanging_logs(store: Store, tmp_path: Path) -> None:
    (good := tmp_path / "good.log").write_text("one\n")
    bad, over = [run_with(f"r{number}", tmp_path / "x") for number in range(200)], threading.Event()
    reads = LogReads(lambda run: real_view(run) if run.id == "good" else Hanging(over), wait_s=5.0)
    reads.ends(bad)
    ends = reads.ends([*bad, run_with("good", good)])
    over.set()
    assert [line["text"] for line in ends.pop("good").lines] == ["one"]
    assert [end.problem for end in ends.values()] == 200 * [HANGS]


def test_unused_logs_are_forgotten_unless_hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.live.log_reads.MOST_KEPT", 3)
    (tmp_path / "log").write_text("one\n")
    over, opened = threading.Event(), list[str]()

    def view(run: Run) -> LogView:
        opened.append(run.id)
        return Hanging(over) if run.id == "bad" else real_view(run)

    reads, names = LogReads(view, wait_s=0.2), ["bad", "a", "b", "c", "d"]
    for name in [*names, "d", "c", "b", "a", "bad"]:
        reads.ends([run_with(name, tmp_path / "log")])
    over.set()
    assert opened == [*names, "b", "a"], "two and the one that hangs are kept"


def test_a_pipe_in_place_of_a_log_is_told(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    store.save_run(run_with("r1", tmp_path / "pipe"))
    part = StoreReader(lambda: store).snapshots(["r1"])["r1"]
    assert part["log"] == []
    assert "is a pipe (FIFO), not a regular file" in part["meta"]["absent"]["log"]


def positions(second: float, *shares: float) -> LogSample:
    """A vLLM line of 10 s with 100 drafts; these shares were accepted at each position."""
    accepted = 100.0 * sum(shares)
    return LogSample("r1", T0 + timedelta(seconds=second), int(second), int(second), "vllm.log", generation_tps=50.0,
                     accepted_tokens=accepted, drafted_tokens=100.0 * len(shares), per_position=list(shares),
                     acceptance_length=1 + accepted / 100)  # fmt: skip


def test_ended_run_log_positions_cover_all(store: Store) -> None:
    store.write(Batch((positions(10, 0.8, 0.6), positions(20, 0.94, 0.94)))).result()
    store.save_run(run_with("r1"))
    reader = StoreReader(lambda: store)
    assert reader.snapshots(["r1"])["r1"]["per_position"]["v"] == [0.94, 0.94], "what came last, while it runs"
    store.save_run(run_with("r1", state=RunState.FINISHED))
    assert reader.snapshots(["r1"])["r1"]["per_position"]["v"] == pytest.approx([0.87, 0.77])


def test_ended_run_counter_positions_cover_all(store: Store) -> None:
    totals = [[0.0, 0.0], [80.0, 60.0], [174.0, 154.0]]
    store.write(Batch(tuple(
        replace(counters(second), drafts_total=100.0 * second, draft_tokens_total=200.0 * second,
                accepted_tokens_total=sum(total), accepted_per_pos_total=total)
        for second, total in enumerate(totals)
    ))).result()  # fmt: skip
    store.save_run(run_with("r1", state=RunState.FINISHED))
    part = StoreReader(lambda: store).snapshots(["r1"])["r1"]
    assert part["per_position"]["v"] == pytest.approx([0.87, 0.77])


def test_ended_run_acceptance_is_of_whole_run(store: Store) -> None:
    """A draft model: every step drafts. Less is accepted while requests begin: Runs and Compare include that too."""

    def at(second: int) -> CounterSample:
        steps, first = 20.0 * second, float(max(second - 8, 0))
        accepted = 45.0 * min(second, 8) + 5.0 * max(second - 8, 0)
        return CounterSample(
            "r1", T0 + timedelta(seconds=second), float(second), "vllm.counter", requests_running=1.0,
            generation_tokens_total=steps + accepted + first, first_tokens_total=first, prompt_tokens_total=0.0,
            inter_token_count_total=steps, drafts_total=steps, draft_tokens_total=4 * steps,
            accepted_tokens_total=accepted,
        )  # fmt: skip

    store.write(Batch(tuple(at(second) for second in range(15)))).result()
    store.save_run(run_with("r1", state=RunState.FINISHED))
    now = StoreReader(lambda: store).snapshots(["r1"])["r1"]["now"]
    (line,) = compute_lines(store, store.runs()).values()
    assert now["tokens_per_step"]["v"] == pytest.approx(line["tokens_per_step"]) == pytest.approx(3.25)
    assert now["acceptance_length"]["v"] == pytest.approx(line["acceptance_length"]) == pytest.approx(2.392857)


def test_attached_run_log_speculation_is_shown(store: Store) -> None:
    run = run_with("r1").model_copy(update={"kind": "attached", "machine_id": machine_id()})
    for key, value in (("speculative_method", "mtp"), ("num_spec_tokens", 3), ("engine_version", "0.21.0")):
        run = run.with_fact(key, value)
    store.save_run(run)
    meta = StoreReader(lambda: store).snapshots(["r1"])["r1"]["meta"]
    assert (meta["chips"], meta["ceiling"]) == (["mtp k=3"], 4)


def latency_sample(seconds_ago: float, count: float, sum_ms: float) -> LatencySample:
    moment = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    buckets = [10.0, 20.0], [count, count, count]
    return LatencySample("r1", moment, -seconds_ago, "vllm.histogram", "ttft_ms", 0, *buckets, sum_ms)


def test_live_latencies_cover_the_last_minute(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        store.write(Batch((latency_sample(600, 0, 0.0), latency_sample(300, 100, 100_000.0),
                           latency_sample(50, 100, 100_000.0),
                           latency_sample(20, 110, 100_200.0)))).result()  # fmt: skip
        store.save_run(run_with("r1", state=RunState.READY))
        now = StoreReader(lambda: store).snapshots(["r1"])["r1"]["now"]
        assert now["server_ttft_ms"]["v"] == pytest.approx(20.0), "not of the hours before"
        assert now["server_e2e_ms"] == {"v": None, "why": "the server recorded no samples in the last minute"}
        store.save_run(run_with("r1", state=RunState.FINISHED))
        whole = StoreReader(lambda: store).snapshots(["r1"])["r1"]["now"]
        assert whole["server_ttft_ms"]["v"] == pytest.approx(100_200 / 110), "of all of a run that has ended"
    finally:
        store.close()


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.FINISHED])
@pytest.mark.parametrize("has_counters", [False, True])
def test_client_speed_is_sent_of_ended_runs_and_where_the_server_tells_none(
    store: Store, state: RunState, has_counters: bool
) -> None:
    (facts,) = repeats(IdealEngine(0.02, start_sd=0.005), "ladder", 1, np.random.default_rng(1), **SMALL)
    run = stored(store, replace(facts, loads=[replace(load, counters=()) for load in facts.loads]), 0, state=state)
    if has_counters:
        assert run.ready_at
        ready_at, seconds = run.ready_at, range(len(RATES) + 1)
        rows = [replace(counters(s), run_id=run.id, ts=ready_at + timedelta(seconds=s)) for s in seconds]
        store.write(Batch(tuple(rows))).result()
    now = StoreReader(lambda: store).snapshots([run.id])[run.id]["now"]
    stream = metrics_of_runs(store, report_on(store, [run]))[run.id][MetricId("stream_tps")].value
    is_sent = state is RunState.FINISHED or not has_counters
    assert stream and (now.get("client_stream_tps") == {"v": stream, "why": None}) is is_sent
