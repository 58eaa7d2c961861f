"""One load's value of an objective, over the requests that all compared loads share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median

from analysis.evidence.factors import SpeedFactors, geometric_mean, steady_factors, stream_factors
from analysis.evidence.loads import (
    FEWEST_CHUNKS,
    LoadRecord,
    RequestKey,
    common_keys,
    decode_tokens,
    has_decoding,
    is_positive,
    is_whole,
    matching_requests,
    shows_rate,
)
from analysis.evidence.objectives import FEWEST_FOR_P95, Objective, ObjectiveKind
from analysis.evidence.session_values import deep_ttft_ms, is_session_load, mean_turn_s, shared_keys
from analysis.evidence.steady import SteadyOutput, merge_outputs, steady_output
from load_records import RequestRecord
from reasons import Code, Reason

Keys = frozenset[RequestKey]
P95 = 0.95
DECODING_OBJECTIVES = (ObjectiveKind.DECODE_TPS, ObjectiveKind.TPOT_MS, ObjectiveKind.TPOT_P95_MS)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value with the class values that it consists of; None with a reason if the load does not provide it."""

    value: float | None = None
    values_by_class: Mapping[str, float] = field(default_factory=dict)  # by class of prompts
    factors: SpeedFactors | None = None
    factors_by_class: Mapping[str, SpeedFactors] = field(default_factory=dict)
    reason: Reason | None = None  # why the value is unknown
    no_factors: Reason | None = None
    steady_s: float | None = None  # duration over which an output rate is measured
    prefill_share: float | None = None  # of the requests' time in that duration


def evidence_keys(loads: Sequence[LoadRecord], objective: Objective) -> Keys:
    """Return the keys of the requests that are usable for the objective in all loads."""
    if objective.kind in DECODING_OBJECTIVES:
        return common_keys(loads, has_decoding)
    return shared_keys(loads)


def measure(load: LoadRecord, objective: Objective, keys: Keys, speculates: bool | None) -> Measurement:
    """Measure a load for an objective that is based on requests; the other objectives are facts of the run."""
    concurrency = 1 if objective.concurrency is None else objective.concurrency
    if objective.kind is ObjectiveKind.DECODE_TPS:
        return measure_decoding(load, keys, speculates)
    if objective.kind is ObjectiveKind.OUTPUT_TPS:
        return measure_output(load, concurrency, speculates)
    if objective.kind is ObjectiveKind.WORK_S:
        return measure_work(load, concurrency)
    if objective.kind is ObjectiveKind.REQUEST_TPS:
        return _measure_request_rate(load, concurrency)
    if objective.kind in SESSION_VALUES:
        return measure_session(load, objective.kind, keys)
    requests = matching_requests(load, keys, concurrency)
    if objective.kind is ObjectiveKind.PROMPT_TPS:
        value = prefill_tps(requests)
        reason = None if value else Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": concurrency})
        return Measurement(value, reason=reason)
    return measure_latency(requests, objective, concurrency)


def measure_session(load: LoadRecord, kind: ObjectiveKind, keys: Keys) -> Measurement:
    """Measure a load by the turns of its sessions."""
    value = SESSION_VALUES[kind](load, keys) if is_session_load(load) else None
    return Measurement(value, reason=None if value else Reason(Code.NO_SESSION))


def measure_decoding(load: LoadRecord, keys: Keys, speculates: bool | None) -> Measurement:
    by_class: dict[str, list[RequestRecord]] = {}
    for request in matching_requests(load, keys, 1):
        by_class.setdefault(request.prompt_class, []).append(request)
    if not by_class:
        return Measurement(reason=_no_decoding(load))
    tps_by_class = {name: _class_tps(requests) for name, requests in by_class.items()}
    factors = {name: stream_factors(load, name, speculates, requests) for name, requests in by_class.items()}
    known_factors = {name: result for name, result in factors.items() if isinstance(result, SpeedFactors)}
    return Measurement(
        geometric_mean(list(tps_by_class.values())),
        tps_by_class,
        _mean_factors(list(known_factors.values())) if len(known_factors) == len(tps_by_class) else None,
        known_factors,
        no_factors=next((result for result in factors.values() if isinstance(result, Reason)), None),
    )


def _no_decoding(load: LoadRecord) -> Reason:
    """Return why a load has no stream speed: no request alone, or none whose answer came in enough chunks."""
    alone = [r for r in load.measured if r.concurrency == 1 and is_whole(r)]
    if alone and not any(map(shows_rate, alone)):
        return Reason(Code.TOO_FEW_CHUNKS, values={"requests": len(alone), "fewest": FEWEST_CHUNKS})
    return Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 1})


def _class_tps(requests: Sequence[RequestRecord]) -> float:
    """Return the tokens of all requests over their seconds, both after the first chunk."""
    seconds = sum(request.decode_ms or 0.0 for request in requests) / 1000
    return sum(map(decode_tokens, requests)) / seconds


def _mean_factors(class_factors: Sequence[SpeedFactors]) -> SpeedFactors:
    """Return the factors of the geometric mean of classes: the geometric means of the factors."""
    return SpeedFactors(
        geometric_mean([factors.tokens_per_step for factors in class_factors]),
        geometric_mean([split.steps_per_s for split in class_factors]),
    )


def measure_output(load: LoadRecord, concurrency: int, speculates: bool | None) -> Measurement:
    """Measure the output rate over the steady parts of all phases at this concurrency."""
    steady = steady_output_of([r for r in load.measured if r.concurrency == concurrency], concurrency)
    if steady is None:
        return Measurement(reason=Reason(Code.NO_STEADY_PART, values={"concurrency": concurrency}))
    split = steady_factors(load, concurrency, speculates, steady)
    return Measurement(
        steady.output_tps,
        factors=split if isinstance(split, SpeedFactors) else None,
        no_factors=split if isinstance(split, Reason) else None,
        steady_s=steady.seconds,
        prefill_share=steady.prefill_share,
    )


def steady_output_of(requests: Sequence[RequestRecord], concurrency: int) -> SteadyOutput | None:
    """Return the output of the steady parts of all phases of these requests; None if there is no steady part."""
    phases = by_phase(requests)
    outputs = [output for phase in phases.values() if (output := steady_output(phase, concurrency))]
    return merge_outputs(outputs) if outputs else None


def by_phase(requests: Sequence[RequestRecord]) -> dict[int | None, list[RequestRecord]]:
    """Group requests by their phase, in the order of first occurrence."""
    phases: dict[int | None, list[RequestRecord]] = {}
    for request in requests:
        phases.setdefault(request.phase_index, []).append(request)
    return phases


def measure_latency(requests: Sequence[RequestRecord], objective: Objective, concurrency: int) -> Measurement:
    kind = objective.kind
    values = [value for request in requests if (value := LATENCIES[kind](request)) is not None]
    if not values:
        return Measurement(reason=Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": concurrency}))
    if kind not in TAILS:
        return Measurement(median(values))
    if len(values) < FEWEST_FOR_P95:
        counts = {"requests": len(values), "fewest": FEWEST_FOR_P95}
        return Measurement(reason=Reason(Code.TOO_FEW_REQUESTS, values=counts))
    return Measurement(quantile(values, P95))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile by linear interpolation (NumPy's default)."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low, high = math.floor(position), math.ceil(position)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def per_token_ms(request: RequestRecord) -> float | None:
    """Return milliseconds per token after the first chunk; None for an answer without decoding."""
    return (request.decode_ms or 0.0) / decode_tokens(request) if has_decoding(request) else None


def prompt_tps(request: RequestRecord) -> float | None:
    """Return computed prompt tokens over the time to first token, which includes sending and queueing."""
    tokens = computed_prompt_tokens(request)
    return tokens / request.ttft_ms * 1000 if tokens and is_positive(request.ttft_ms) else None


def computed_prompt_tokens(request: RequestRecord) -> int | None:
    """Return the prompt tokens that were not in the prefix cache; None if unknown, none, or the request failed."""
    if request.error_kind or not request.prompt_tokens:
        return None
    return max(0, request.prompt_tokens - int(request.extra.get("cached_prompt_tokens") or 0)) or None


def prefill_tps(requests: Sequence[RequestRecord]) -> float | None:
    """Return the computed prompt tokens of all requests together over the sum of their times to first token."""
    rated_requests = [request for request in requests if prompt_tps(request) is not None]
    seconds = sum(request.ttft_ms or 0.0 for request in rated_requests) / 1000
    return sum(computed_prompt_tokens(request) or 0 for request in rated_requests) / seconds if rated_requests else None


LATENCIES: Mapping[ObjectiveKind, Callable[[RequestRecord], float | None]] = {
    ObjectiveKind.TTFT_MS: lambda request: request.ttft_ms,
    ObjectiveKind.TTFT_P95_MS: lambda request: request.ttft_ms,
    ObjectiveKind.TPOT_MS: per_token_ms,
    ObjectiveKind.TPOT_P95_MS: per_token_ms,
    ObjectiveKind.E2E_MS: lambda request: request.total_ms,
    ObjectiveKind.E2E_P95_MS: lambda request: request.total_ms,
}
SESSION_VALUES: Mapping[ObjectiveKind, Callable[[LoadRecord, Keys], float | None]] = {
    ObjectiveKind.TURN_S: mean_turn_s,
    ObjectiveKind.DEEP_TTFT_MS: deep_ttft_ms,
}
TAILS = (ObjectiveKind.TTFT_P95_MS, ObjectiveKind.TPOT_P95_MS, ObjectiveKind.E2E_P95_MS)


def measure_work(load: LoadRecord, concurrency: int) -> Measurement:
    """Measure the duration of the phases at this concurrency; the comparison checks that answers have equal lengths."""
    phases = [p for p in load.phases if p.kind == "measure" and p.concurrency == concurrency]
    if not phases or not all(p.is_complete for p in phases):
        return Measurement(reason=Reason(Code.PHASE_NOT_ENDED))
    return Measurement(sum(p.duration_s - p.paused_s for p in phases))


def _measure_request_rate(load: LoadRecord, concurrency: int) -> Measurement:
    rate = request_tps([r for r in load.measured if r.concurrency == concurrency])
    reason = None if rate else Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": concurrency})
    return Measurement(rate, reason=reason)


def request_tps(requests: Sequence[RequestRecord]) -> float | None:
    """Return those that ended well, over the seconds from the first sent to the last ended of each phase."""
    ended = [request for request in requests if is_whole(request)]
    seconds = sum(map(wall_s, by_phase(ended).values()))
    return len(ended) / seconds if seconds > 0 else None


def wall_s(requests: Sequence[RequestRecord]) -> float:
    """Return the seconds from the first sent to the last ended of these requests."""
    ends = [request.sent_at + timedelta(milliseconds=request.total_ms or 0) for request in requests]
    return (max(ends) - min(request.sent_at for request in requests)).total_seconds() if requests else 0.0
