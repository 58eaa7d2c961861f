"""Requests, loads and runs made by hand, for what a simulation would not hit: each value stands in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.evidence.loads import LoadRecord, common_keys
from analysis.evidence.objectives import parse_objective
from analysis.guard import ArmPair
from load_records import Load, LoadCounters, LoadPhase, RequestRecord
from tests.analysis.comparison.ideal_engine import SERVED, T0

WARMED = RequestRecord("r", "w", "w", "warmup", "warm-up", 0, 1, T0 - timedelta(minutes=1), phase_index=0, sequence=0)


def request(number: int = 0, at_s: float = 0.0, concurrency: int = 1, **fields: Any) -> RequestRecord:
    """10 tokens in a second: the first after 100 ms, the others 100 ms apart."""
    whole: dict[str, Any] = {
        "ttft_ms": 100.0,
        "decode_ms": 900.0,
        "total_ms": 1000.0,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_hash": f"p{number}",
        "phase_index": 1,
        "sequence": number,
        "since_phase_s": at_s,
        "segment": 0,
        "load_id": "l",
        "extra": {"first_chunk_tokens": 1, "cached_prompt_tokens": 0, "collapse": {"looped_ratio": 0.0}},
    }
    return RequestRecord(
        run_id="r",
        request_id=f"q{number}-{concurrency}",
        workload="w",
        phase=fields.pop("phase", "measure"),
        prompt_class=fields.pop("prompt_class", "Code"),
        stream=0,
        concurrency=concurrency,
        sent_at=T0 + timedelta(seconds=at_s),
        **(whole | fields),
    )


def streams(count: int, concurrency: int = 1, **fields: Any) -> list[RequestRecord]:
    """`count` requests in each of `concurrency` streams, one after the other without a gap."""
    return [
        request(n * concurrency + stream, float(n), concurrency, **fields)
        for n in range(count)
        for stream in range(concurrency)
    ]


def mark(segment: int, generation: float | None = None, rank: int = 0, **totals: float | None) -> LoadCounters:
    """The counters before a segment; names without '_total'."""
    values_by_text = {f"{name}_total": value for name, value in totals.items()}
    return LoadCounters("r", "l", T0, segment, "vllm.counter", rank, generation, **values_by_text)


def load(
    requests: Sequence[RequestRecord], counters: Sequence[LoadCounters] = (), run_id: str = "r", **asked: Any
) -> LoadRecord:
    """A complete load of these requests, warmed up by one that does not count."""
    asks = {"workload": "w", "tool": "pitwall", "prompt_set_hash": "h", "planned_requests": len(requests)} | asked
    targets = {r.phase_index: r.concurrency for r in requests}
    phases = tuple(
        LoadPhase(run_id, "l", T0, index or 0, "phase", "measure", concurrency, T0, 10.0, 0.0, len(requests), True)
        for index, concurrency in targets.items()
    )
    return LoadRecord(run_id, "l", Load(run_id, "l", T0, **asks), phases, (WARMED, *requests), tuple(counters))


def run(run_id: str, *loads: LoadRecord, served: ServerSetup = SERVED, **facts: Any) -> RunFacts:
    return RunFacts(run_id, run_id, served, loads=tuple(replace(load, run_id=run_id) for load in loads), **facts)


def arm(*runs: RunFacts) -> Arm:
    return Arm(arm_key(runs[0]), tuple(runs))


def faster(requests: Sequence[RequestRecord], times: float) -> list[RequestRecord]:
    """The same requests answered so many times as fast."""
    names = ("ttft_ms", "decode_ms", "total_ms", "since_phase_s")
    return [replace(r, **{name: getattr(r, name) / times for name in names}) for r in requests]


def pair_of(a: Sequence[RunFacts], b: Sequence[RunFacts], objective: str = "decode_tps", **fields: Any) -> ArmPair:
    """Two arms with the requests that all their loads share."""
    loads = [load for facts in (*a, *b) for load in facts.loads]
    return ArmPair(arm(*a), arm(*b), parse_objective(objective), common_keys(loads), **fields)
