"""One load's value of an objective, over the requests that all compared loads share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from analysis.evidence.factors import Factors, geometric_mean, steady_factors, stream_factors
from analysis.evidence.loads import (
    LoadRecord,
    RequestKey,
    common_keys,
    decode_tokens,
    has_decoding,
    is_whole,
    matched,
)
from analysis.evidence.objectives import FEWEST_FOR_P95, Kind, Objective
from analysis.evidence.steady import steady_part, together
from load_records import RequestRecord
from reasons import Code, Reason

Keys = frozenset[RequestKey]
P95 = 0.95
OF_DECODING = (Kind.DECODE_TPS, Kind.TPOT_MS, Kind.TPOT_P95_MS)


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with the parts it is made of; None with the reason where the load does not give it."""

    value: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)  # class of prompts -> its own value
    factors: Factors | None = None
    part_factors: Mapping[str, Factors] = field(default_factory=dict)
    reason: Reason | None = None  # why the value is unknown
    no_factors: Reason | None = None
    steady_s: float | None = None  # seconds that an output rate is taken over
    prefill_share: float | None = None  # of the requests' time meanwhile


def evidence_keys(loads: Sequence[LoadRecord], objective: Objective) -> Keys:
    """The requests by which these loads are compared: all of them have what the objective takes of a request."""
    return common_keys(loads, has_decoding if objective.kind in OF_DECODING else is_whole)


def measure(load: LoadRecord, objective: Objective, keys: Keys, speculates: bool | None) -> Measured:
    """The load's value of an objective that requests give; the others are facts of the run."""
    concurrency = objective.concurrency or 1
    if objective.kind is Kind.DECODE_TPS:
        return _decode(load, keys, speculates)
    if objective.kind is Kind.OUTPUT_TPS:
        return _output(load, concurrency, speculates)
    if objective.kind is Kind.WORK_S:
        return _work(load, concurrency)
    return _latency(matched(load, keys, concurrency), objective, concurrency)


def _decode(load: LoadRecord, keys: Keys, speculates: bool | None) -> Measured:
    by_class: dict[str, list[RequestRecord]] = {}
    for request in matched(load, keys, 1):
        by_class.setdefault(request.prompt_class, []).append(request)
    if not by_class:
        return Measured(reason=Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 1}))
    parts = {name: _class_tps(requests) for name, requests in by_class.items()}
    factors = {name: stream_factors(load, name, speculates, requests) for name, requests in by_class.items()}
    known = {name: one for name, one in factors.items() if isinstance(one, Factors)}
    return Measured(
        geometric_mean(list(parts.values())),
        parts,
        _mean_factors(list(known.values())) if len(known) == len(parts) else None,
        known,
        no_factors=next((one for one in factors.values() if isinstance(one, Reason)), None),
    )


def _class_tps(requests: Sequence[RequestRecord]) -> float:
    seconds = sum(request.decode_ms or 0.0 for request in requests) / 1000
    return sum(map(decode_tokens, requests)) / seconds


def _mean_factors(known: Sequence[Factors]) -> Factors:
    """Factors of the geometric mean of classes: the geometric means of the factors."""
    return Factors(
        geometric_mean([one.tokens_per_step for one in known]), geometric_mean([one.steps_per_s for one in known])
    )


def _output(load: LoadRecord, concurrency: int, speculates: bool | None) -> Measured:
    """Over the steady parts of all its phases of this concurrency."""
    phases = dict.fromkeys(r.phase_index for r in load.measured if r.concurrency == concurrency)
    parts = [
        part
        for index in phases
        if (part := steady_part([r for r in load.measured if r.phase_index == index], concurrency))
    ]
    if not parts:
        return Measured(reason=Reason(Code.NO_STEADY_PART, values={"concurrency": concurrency}))
    steady = together(parts)
    found = steady_factors(load, concurrency, speculates, steady)
    return Measured(
        steady.output_tps,
        factors=found if isinstance(found, Factors) else None,
        no_factors=found if isinstance(found, Reason) else None,
        steady_s=steady.seconds,
        prefill_share=steady.prefill_share,
    )


def _latency(requests: Sequence[RequestRecord], objective: Objective, concurrency: int) -> Measured:
    kind = objective.kind
    values = [value for request in requests if (value := LATENCIES[kind](request)) is not None]
    if not values:
        return Measured(reason=Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": concurrency}))
    if kind not in TAILS:
        return Measured(median(values))
    if len(values) < FEWEST_FOR_P95:
        counts = {"requests": len(values), "fewest": FEWEST_FOR_P95}
        return Measured(reason=Reason(Code.TOO_FEW_REQUESTS, values=counts))
    return Measured(quantile(values, P95))


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest values, in proportion (as NumPy's default)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def per_token_ms(request: RequestRecord) -> float | None:
    """After the first piece; None of an answer without decoding."""
    return (request.decode_ms or 0.0) / decode_tokens(request) if has_decoding(request) else None


LATENCIES: Mapping[Kind, Callable[[RequestRecord], float | None]] = {
    Kind.TTFT_MS: lambda request: request.ttft_ms,
    Kind.TTFT_P95_MS: lambda request: request.ttft_ms,
    Kind.TPOT_MS: per_token_ms,
    Kind.TPOT_P95_MS: per_token_ms,
    Kind.E2E_MS: lambda request: request.total_ms,
    Kind.E2E_P95_MS: lambda request: request.total_ms,
}
TAILS = (Kind.TTFT_P95_MS, Kind.TPOT_P95_MS, Kind.E2E_P95_MS)


def _work(load: LoadRecord, concurrency: int) -> Measured:
    """The work of the phases with this concurrency; the comparison checks whether answers are as long everywhere."""
    phases = [p for p in load.phases if p.kind == "measure" and p.concurrency == concurrency]
    if not phases or not all(p.is_complete for p in phases):
        return Measured(reason=Reason(Code.PHASE_NOT_ENDED))
    return Measured(sum(p.duration_s - p.paused_s for p in phases))
