"""A load as its generator recorded it, and which of its requests are evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeGuard

from load_records import Load, LoadCounters, LoadPhase, RequestRecord

MEASURED = "measure"


class RequestKey(NamedTuple):
    """What makes two requests of different loads the same one."""

    phase_index: int
    sequence: int
    concurrency: int
    prompt_class: str
    prompt_hash: str | None


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """One load on one server start; `asked` is None where an older Pitwall wrote the requests alone."""

    run_id: str
    load_id: str | None
    asked: Load | None = None
    phases: tuple[LoadPhase, ...] = ()
    requests: tuple[RequestRecord, ...] = ()
    counters: tuple[LoadCounters, ...] = ()

    @property
    def measured(self) -> list[RequestRecord]:
        """The requests that are evidence: all of the measured phases, failed ones among them."""
        return [request for request in self.requests if request.phase == MEASURED]

    @property
    def concurrencies(self) -> list[int]:
        """The targets of its measured phases, lowest first."""
        return sorted({request.concurrency for request in self.measured})

    @property
    def is_complete(self) -> bool:
        """Whether all that was planned was sent and ended, as far as the plan is known."""
        return not self.unsent and all(phase.is_complete for phase in self.phases)

    @property
    def unsent(self) -> int | None:
        """Measured requests that were planned and have not ended; None where the plan is not known."""
        if self.asked is None or self.asked.planned_requests is None:
            return None
        return max(0, self.asked.planned_requests - len(self.measured))


def load_records(
    run_id: str,
    asked: Sequence[Load],
    phases: Sequence[LoadPhase],
    requests: Sequence[RequestRecord],
    counters: Sequence[LoadCounters],
) -> list[LoadRecord]:
    """The loads of one run in the order in which they began; what was recorded before there were loads is one."""
    begun = [load.load_id for load in sorted(asked, key=lambda load: load.ts)]
    ids: dict[str | None, None] = dict.fromkeys([*begun, *(request.load_id for request in requests)])
    plans: dict[str | None, Load] = {load.load_id: load for load in asked}
    return [
        LoadRecord(
            run_id,
            load_id,
            plans.get(load_id),
            tuple(sorted((p for p in phases if p.load_id == load_id), key=lambda p: p.phase_index)),
            tuple(numbered([r for r in requests if r.load_id == load_id])),
            tuple(c for c in counters if c.load_id == load_id),
        )
        for load_id in ids
    ]


def numbered(requests: Sequence[RequestRecord]) -> list[RequestRecord]:
    """Requests by time; those of an older Pitwall get their phase and place from their order."""
    ordered = sorted(requests, key=lambda request: request.sent_at)
    if all(request.phase_index is not None for request in ordered):
        return ordered
    placed: list[RequestRecord] = []
    groups = groupby(ordered, key=lambda r: (r.phase, r.extra.get("phase_title"), r.concurrency))
    for index, (_, group) in enumerate(groups):
        together = list(group)
        began = together[0].sent_at
        placed += [
            replace(r, phase_index=index, sequence=n, since_phase_s=(r.sent_at - began).total_seconds())
            for n, r in enumerate(together)
        ]
    return placed


def key_of(request: RequestRecord) -> RequestKey:
    """Its place in the plan, its concurrency and its prompt; phase and place are 0 where they were not recorded."""
    place = (request.phase_index or 0, request.sequence or 0)
    return RequestKey(*place, request.concurrency, request.prompt_class, request.prompt_hash)


def is_whole(request: RequestRecord) -> bool:
    """Whether it ended well and its tokens and times are known."""
    known = (request.completion_tokens, request.total_ms, request.ttft_ms)
    return request.error_kind is None and all(map(is_positive, known))


def is_positive(value: float | None) -> TypeGuard[float]:
    """Whether it is a number that a speed can be made of: known, above zero and finite."""
    return value is not None and 0 < value < math.inf


def has_decoding(request: RequestRecord) -> bool:
    """Whether a speed of decoding can be given of it: tokens after its first piece, and time for them."""
    return is_whole(request) and decode_tokens(request) > 0 and is_positive(request.decode_ms)


def decode_tokens(request: RequestRecord) -> int:
    """Tokens after the first piece, which is one token unless the server counted it otherwise."""
    return (request.completion_tokens or 0) - int(request.extra.get("first_chunk_tokens") or 1)


def common_keys(
    loads: Iterable[LoadRecord], is_usable: Callable[[RequestRecord], bool] = is_whole
) -> frozenset[RequestKey]:
    """The measured requests that are usable in every one of the loads: unless said otherwise, that ended well."""
    sets = [{key_of(request) for request in load.measured if is_usable(request)} for load in loads]
    return frozenset(set.intersection(*sets)) if sets else frozenset()


def matched(load: LoadRecord, keys: frozenset[RequestKey], concurrency: int | None = None) -> list[RequestRecord]:
    """The load's requests among these keys, of one concurrency or of all."""
    return [
        request
        for request in load.measured
        if key_of(request) in keys and is_whole(request) and concurrency in (None, request.concurrency)
    ]
