"""Accepted draft lengths, by the engine's counters around a load's measured requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest

from analysis.evidence.factors import counter_increments, decode_steps
from analysis.evidence.loads import LoadRecord
from load_records import LoadCounters, RequestRecord
from reasons import Reason

Shares = tuple[float, ...]  # of the steps whose first 1, 2, ... draft tokens were accepted: non-increasing


def accepted_shares(load: LoadRecord, requests: Sequence[RequestRecord], speculates: bool | None) -> Shares | None:
    """Return the shares over the decode steps after the requests' first tokens; a step without a draft accepts none.

    Empty for a server known not to speculate; None if the counters do not show it.
    """
    if speculates is False:
        return ()
    increments = counter_increments(load, requests)
    if isinstance(increments, Reason):
        return None
    steps = decode_steps(increments, len(requests), speculates)
    accepted = [_accepted(load.counters, segment) for segment in {request.segment for request in requests}]
    if isinstance(steps, Reason) or not all(accepted):
        return None
    sums = [sum(column) for column in zip_longest(*filter(None, accepted), fillvalue=0.0)]
    return tuple(accumulate((min(1.0, count / steps) for count in sums), min))


def _accepted(counters: Sequence[LoadCounters], segment: int | None) -> list[float] | None:
    """Return the tokens accepted at each position over a segment, summed over ranks."""
    before = [c.accepted_per_pos_total or [] for c in counters if c.segment == segment]
    after = [c.accepted_per_pos_total for c in counters if segment is not None and c.segment == segment + 1]
    known_ranks = [counts for counts in after if counts]
    if not known_ranks or len(known_ranks) != len(after):
        return None
    width = max(map(len, known_ranks))
    return [_sum_at(known_ranks, position) - _sum_at(before, position) for position in range(width)]


def _sum_at(ranks: Sequence[Sequence[float]], position: int) -> float:
    """Sum one position over ranks; a position that is not counted yet is zero."""
    return sum(rank[position] for rank in ranks if position < len(rank))
