"""'knee': finds how many users a server holds: steps of rising concurrency under latency limits."""

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
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts.natural_text import DrawnText

P95 = 0.95


class KneeParams(Params):
    """What can be set of 'knee': the latency limits (95th percentile) and where the search begins and ends."""

    ttft_p95_ms: float = Field(default=2000.0, gt=0.0)
    tpot_p95_ms: float = Field(default=100.0, gt=0.0)
    lowest: int = Field(default=1, ge=1, le=512)
    most: int = Field(default=256, ge=1, le=512)
    requests_per_user: int = Field(default=4, ge=1, le=100)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=2, le=1_000_000)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


def build(params: KneeParams) -> Plan:
    """A warm-up and the lowest rung; the others follow from what was measured."""
    return [Phase("Warm-up", "warmup", 1, (_request(params, "warm"),)), rung(params, params.lowest)]


def rung(params: KneeParams, users: int) -> Phase:
    """So many users at once, each with its requests one after the other."""
    count = users * params.requests_per_user
    requests = tuple(_request(params, f"{users} {number}") for number in range(count))
    return Phase(f"{users} at once", "measure", users, requests)


def _request(params: KneeParams, name: str) -> PlannedRequest:
    sampling = params.sampled(params.output_tokens, params.temperature, ignore_eos=True)
    return PlannedRequest("Traffic", "", sampling, drawn=DrawnText(f"{params.seed} {name}", params.prompt_tokens))


def by_users(records: Sequence[RequestRecord]) -> dict[int, list[RequestRecord]]:
    """The measured requests of each rung, lowest first."""
    measured = sorted((r for r in records if r.phase == "measure"), key=lambda r: r.concurrency)
    return {users: list(group) for users, group in groupby(measured, key=lambda r: r.concurrency)}


def further(params: KneeParams, records: Sequence[RequestRecord]) -> Phase | None:
    """The rung to try next."""
    tried = {users: holds(params, group) for users, group in by_users(records).items()}
    users = next_rung(tried, params.lowest, params.most)
    return None if users is None or users in tried else rung(params, users)


def holds(params: KneeParams, requests: Sequence[RequestRecord]) -> bool:
    """Whether these requests all ended well within both limits at their 95th percentile."""
    ttft = [r.ttft_ms for r in requests if r.ttft_ms is not None and r.error_kind is None]
    tpot = [value for r in requests if r.error_kind is None and (value := _tpot_ms(r)) is not None]
    if len(ttft) < len(requests) or len(tpot) < len(requests):
        return False
    return quantile(ttft, P95) <= params.ttft_p95_ms and quantile(tpot, P95) <= params.tpot_p95_ms


def _tpot_ms(request: RequestRecord) -> float | None:
    """As who waits for it sees it: 0 of an answer whose pieces were all read at once; None where it is not known."""
    if not is_whole(request) or request.decode_ms is None:
        return None
    return request.decode_ms / max(1, decode_tokens(request))


def is_good(params: KneeParams, request: RequestRecord) -> bool:
    """Whether one request ended well within both limits."""
    tpot = _tpot_ms(request)
    if request.error_kind is not None or request.ttft_ms is None or tpot is None:
        return False
    return request.ttft_ms <= params.ttft_p95_ms and tpot <= params.tpot_p95_ms


def conclude(params: KneeParams, load_id: str, now: datetime, records: Sequence[RequestRecord]) -> list[Result]:
    """The users that it holds, and of each rung the requests a second that kept both limits (goodput)."""
    rungs = by_users(records)
    if not rungs:
        return []
    run_id = records[0].run_id
    rows = [_goodput(params, run_id, load_id, now, users, group) for users, group in rungs.items()]
    held = knee({users: holds(params, group) for users, group in rungs.items()})
    limits = {"ttft_ms": f"{params.ttft_p95_ms:g}", "tpot_ms": f"{params.tpot_p95_ms:g}"}
    why = [] if held is not None else [Reason(Code.LOWEST_RUNG_BROKE, values={"users": min(rungs)})]
    why.append(Reason(Code.LIMITS_AT_P95, values=limits))
    total = Result(
        run_id, load_id, now, "knee", "users_held", "max", "users", DEFINITION, held, len(rungs),
        reason=write_reasons(why),
    )  # fmt: skip
    return [*rows, total]


def _goodput(
    params: KneeParams, run_id: str, load_id: str, now: datetime, users: int, group: Sequence[RequestRecord]
) -> Result:
    found = aggregates(group)
    good = sum(is_good(params, request) for request in group)
    value = good / found.wall_s if found.wall_s else None
    point = str(group[0].extra.get("phase_title"))
    return Result(
        run_id, load_id, now, point, "goodput_rps", "mean", "requests/s", DEFINITION, value, len(group),
        concurrency=users, reason=write_reasons([found.reason] if found.reason else []),
    )  # fmt: skip


KNEE = Workload(
    name="knee",
    title="How many users does it hold?",
    summary="Doubles the users until a limit of latency is broken, then closes in on the most that it holds.",
    params_type=KneeParams,
    build=build,
    further=further,
    conclude=conclude,
)
