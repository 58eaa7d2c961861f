"""'knee': finds how many users a server can serve within latency limits, by steps of rising concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from pydantic import Field

from analysis.evidence.loads import decode_tokens, is_whole
from analysis.evidence.measure import quantile
from analysis.loads.knee import knee, next_rung
from analysis.loads.load_results import DEFINITION
from analysis.loads.requests import aggregates
from load_records import RequestRecord, Result
from reasons import Code, Reason, write_reasons
from workloads.natural_text import SeededText
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload

P95 = 0.95


class KneeParams(Params):
    """Parameters of 'knee': the latency limits (95th percentile) and the range of the search."""

    ttft_p95_ms: float = Field(default=2000.0, gt=0.0)
    tpot_p95_ms: float = Field(default=100.0, gt=0.0)
    lowest: int = Field(default=1, ge=1, le=512)
    most: int = Field(default=256, ge=1, le=512)
    requests_per_user: int = Field(default=4, ge=1, le=100)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=2, le=1_000_000)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


def build(params: KneeParams) -> Plan:
    """Return a plan of the warm-up and the lowest rung; the others follow from the measurements."""
    return [Phase("Warm-up", "warmup", 1, (_request(params, "warm"),)), rung(params, params.lowest)]


def rung(params: KneeParams, users: int) -> Phase:
    """Return the phase of this many concurrent users, each sending its requests one after the other."""
    count = users * params.requests_per_user
    requests = tuple(_request(params, f"{users} {number}") for number in range(count))
    return Phase(f"{users} at once", "measure", users, requests)


def _request(params: KneeParams, name: str) -> PlannedRequest:
    sampling = params.sampling_for(params.output_tokens, params.temperature, ignore_eos=True)
    return PlannedRequest(
        "Traffic", "", sampling, seeded_prompt=SeededText(f"{params.seed} {name}", params.prompt_tokens)
    )


def group_by_users(records: Sequence[RequestRecord]) -> dict[int, list[RequestRecord]]:
    """Return the measured requests of each rung, lowest first."""
    measured = sorted((r for r in records if r.phase == "measure"), key=lambda r: r.concurrency)
    return {users: list(group) for users, group in groupby(measured, key=lambda r: r.concurrency)}


def next_phase(params: KneeParams, records: Sequence[RequestRecord]) -> Phase | None:
    """Return the rung to try next."""
    keeps_limits = {users: is_within_limits(params, group) for users, group in group_by_users(records).items()}
    users = next_rung(keeps_limits, params.lowest, params.most)
    return None if users is None or users in keeps_limits else rung(params, users)


def is_within_limits(params: KneeParams, requests: Sequence[RequestRecord]) -> bool:
    """Return whether all requests succeeded and their 95th percentiles are within both limits."""
    ttft = [r.ttft_ms for r in requests if r.ttft_ms is not None and r.error_kind is None]
    tpot = [value for r in requests if r.error_kind is None and (value := _tpot_ms(r)) is not None]
    if len(ttft) < len(requests) or len(tpot) < len(requests):
        return False
    return quantile(ttft, P95) <= params.ttft_p95_ms and quantile(tpot, P95) <= params.tpot_p95_ms


def _tpot_ms(request: RequestRecord) -> float | None:
    """Return the time per output token as the client sees it: 0 if all pieces were read at once, None if unknown."""
    if not is_whole(request) or request.decode_ms is None:
        return None
    return request.decode_ms / max(1, decode_tokens(request))


def is_request_within_limits(params: KneeParams, request: RequestRecord) -> bool:
    """Return whether the request succeeded within both limits."""
    tpot = _tpot_ms(request)
    if request.error_kind is not None or request.ttft_ms is None or tpot is None:
        return False
    return request.ttft_ms <= params.ttft_p95_ms and tpot <= params.tpot_p95_ms


def knee_results(params: KneeParams, load_id: str, now: datetime, records: Sequence[RequestRecord]) -> list[Result]:
    """Return the number of users within limits, and the goodput of each rung (requests/s within both limits)."""
    rungs = group_by_users(records)
    if not rungs:
        return []
    run_id = records[0].run_id
    rows = [_goodput(params, run_id, load_id, now, users, group) for users, group in rungs.items()]
    users_held = knee({users: is_within_limits(params, group) for users, group in rungs.items()})
    limits = {"ttft_ms": f"{params.ttft_p95_ms:g}", "tpot_ms": f"{params.tpot_p95_ms:g}"}
    reasons = [] if users_held is not None else [Reason(Code.LOWEST_RUNG_BROKE, values={"users": min(rungs)})]
    reasons.append(Reason(Code.LIMITS_AT_P95, values=limits))
    total = Result(
        run_id, load_id, now, "knee", "users_held", "max", "users", DEFINITION, users_held, len(rungs),
        reason=write_reasons(reasons),
    )  # fmt: skip
    return [*rows, total]


def _goodput(
    params: KneeParams, run_id: str, load_id: str, now: datetime, users: int, group: Sequence[RequestRecord]
) -> Result:
    totals = aggregates(group)
    good_count = sum(is_request_within_limits(params, request) for request in group)
    value = good_count / totals.wall_s if totals.wall_s else None
    point = str(group[0].extra.get("phase_title"))
    return Result(
        run_id, load_id, now, point, "goodput_rps", "mean", "requests/s", DEFINITION, value, len(group),
        concurrency=users, reason=write_reasons([totals.reason] if totals.reason else []),
    )  # fmt: skip


KNEE = Workload(
    name="knee",
    title="How many users can it serve?",
    summary="Doubles the users until a latency limit is exceeded, then narrows down the highest number within limits.",
    params_type=KneeParams,
    build=build,
    next_phase=next_phase,
    conclude=knee_results,
)
