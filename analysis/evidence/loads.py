"""Loads as their generator recorded them, and the requests that count as evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeGuard

from domain import JsonValue
from load_records import Load, LoadCounters, LoadPhase, RequestRecord

MEASURED = "measure"
FILE_PARAM = "file"  # of loads that read one
FEWEST_CHUNKS = 4  # with fewer, the times show when an answer was sent, not how fast it was decoded


class RequestKey(NamedTuple):
    """Identity of a request across loads."""

    phase_index: int
    sequence: int
    concurrency: int
    prompt_class: str
    prompt_hash: str | None


class QueueReading(NamedTuple):
    """The requests that a server ran and let wait, by one reading of its counters during a phase, over all ranks."""

    phase_index: int
    since_phase_s: float
    running: float | None
    waiting: float | None
    process_start_s: float | None = None  # as the server states it, since the epoch


@dataclass(frozen=True)
class LoadRecord:
    """One load on one server start; `plan` is None if only the requests are stored."""

    run_id: str
    load_id: str | None
    plan: Load | None = None
    phases: tuple[LoadPhase, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
    counters: tuple[LoadCounters, ...] = ()
    queue: tuple[QueueReading, ...] = ()  # empty: the server has no such counters, or they were not asked for

    @property
    def measured(self) -> list[RequestRecord]:
        """The requests that are evidence: all of the measured phases, failed ones included."""
        return [request for request in self.requests if request.phase == MEASURED]

    @cached_property
    def whole_requests(self) -> list[tuple[RequestKey, RequestRecord]]:
        """The measured requests that are whole, with their keys: read for each pair, objective and guard row."""
        return [(key_of(request), request) for request in self.measured if is_whole(request)]

    @property
    def concurrencies(self) -> list[int]:
        """The concurrency targets of its measured phases, lowest first."""
        return sorted({request.concurrency for request in self.measured})

    @property
    def is_complete(self) -> bool:
        """Whether all planned requests were sent and ended, as far as the plan is known."""
        return not self.unsent and all(phase.is_complete for phase in self.phases)

    @property
    def unsent(self) -> int | None:
        """Number of planned measured requests that have not ended; None if these or the plan are unknown."""
        if self.plan is None or self.plan.planned_requests is None or self.lacks_requests:
            return None
        return max(0, self.plan.planned_requests - len(self.measured))

    @property
    def lacks_requests(self) -> bool:
        """Whether it is of a tool's file that has totals and no request."""
        return self.plan is not None and self.plan.source_name is not None and not self.requests


def build_load_records(
    run_id: str,
    plans: Sequence[Load],
    phases: Sequence[LoadPhase],
    requests: Sequence[RequestRecord],
    counters: Sequence[LoadCounters],
    queue: Mapping[str, Sequence[QueueReading]] | None = None,
) -> list[LoadRecord]:
    """Return the loads of one run in the order of their beginning; records without a load id form one load.

    queue: readings by load id.
    """
    began_ids = [load.load_id for load in sorted(plans, key=lambda load: load.ts)]
    ids: dict[str | None, None] = dict.fromkeys([*began_ids, *(request.load_id for request in requests)])
    plan_by_id: dict[str | None, Load] = {load.load_id: load for load in plans}
    return [
        LoadRecord(
            run_id,
            load_id,
            plan_by_id.get(load_id),
            tuple(sorted((p for p in phases if p.load_id == load_id), key=lambda p: p.phase_index)),
            tuple(number_requests([r for r in requests if r.load_id == load_id])),
            tuple(c for c in counters if c.load_id == load_id),
            tuple((queue or {}).get(load_id or "", ())),
        )
        for load_id in ids
    ]


def number_requests(requests: Sequence[RequestRecord]) -> list[RequestRecord]:
    """Sort requests by time; those without phase index and sequence get them from their order."""
    ordered = sorted(requests, key=lambda request: request.sent_at)
    if all(request.phase_index is not None for request in ordered):
        return ordered
    numbered_requests: list[RequestRecord] = []
    groups = groupby(ordered, key=lambda r: (r.phase, r.extra.get("phase_title"), r.concurrency))
    for index, (_, group) in enumerate(groups):
        phase_requests = list(group)
        began = phase_requests[0].sent_at
        numbered_requests += [
            replace(r, phase_index=index, sequence=n, since_phase_s=(r.sent_at - began).total_seconds())
            for n, r in enumerate(phase_requests)
        ]
    return numbered_requests


def compared_params(plan: Load) -> dict[str, JsonValue]:
    """Return a load's parameters without the path of its file, for whose content the hash of its prompts stands.

    Two machines keep the same file in different places.
    """
    return {name: value for name, value in plan.params.items() if name != FILE_PARAM or not plan.prompt_set_hash}


def key_of(request: RequestRecord) -> RequestKey:
    """Return its position in the plan, concurrency and prompt; unrecorded phase and sequence are 0."""
    position = (request.phase_index or 0, request.sequence or 0)
    return RequestKey(*position, request.concurrency, request.prompt_class, request.prompt_hash)


def is_whole(request: RequestRecord) -> bool:
    """Whether the request succeeded and its tokens and times are known."""
    values = (request.completion_tokens, request.total_ms, request.ttft_ms)
    return request.error_kind is None and all(map(is_positive, values))


def is_positive(value: float | None) -> TypeGuard[float]:
    """Whether the value is known, positive and finite."""
    return value is not None and 0 < value < math.inf


def has_decoding(request: RequestRecord) -> bool:
    """Whether the request has a decode speed: tokens after its first chunk, time for them, and enough chunks."""
    return is_whole(request) and decode_tps(request) is not None


def shows_rate(request: RequestRecord) -> bool:
    """Whether the answer came in enough chunks to show a rate; a tool that counts none is trusted."""
    return request.chunks is None or request.chunks >= FEWEST_CHUNKS


def decode_tps(request: RequestRecord) -> float | None:
    """Return tokens after the first chunk over the time since it arrived; None if unknown, failed or in few chunks."""
    decode_ms, tokens = request.decode_ms, decode_tokens(request)
    if request.error_kind or tokens <= 0 or not is_positive(decode_ms) or not shows_rate(request):
        return None
    return tokens / decode_ms * 1000


def decode_tokens(request: RequestRecord) -> int:
    """Return the tokens after the first chunk, which is one token unless the server counted it otherwise."""
    return (request.completion_tokens or 0) - int(request.extra.get("first_chunk_tokens") or 1)


def common_keys(
    loads: Iterable[LoadRecord], is_usable: Callable[[RequestRecord], bool] = lambda whole_request: True
) -> frozenset[RequestKey]:
    """Return the keys of measured requests that are whole and usable in every load; by default, all whole ones."""
    sets = [{key for key, request in load.whole_requests if is_usable(request)} for load in loads]
    return frozenset(set.intersection(*sets)) if sets else frozenset()


def matching_requests(
    load: LoadRecord, keys: frozenset[RequestKey], concurrency: int | None = None
) -> list[RequestRecord]:
    """Return the load's requests with these keys, at one concurrency or at all."""
    return [
        request for key, request in load.whole_requests if key in keys and concurrency in (None, request.concurrency)
    ]
