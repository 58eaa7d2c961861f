"""How far drafts got, by the engine's counters around a load's measured requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest

from analysis.evidence.factors import decode_steps, gained_over
from analysis.evidence.loads import LoadRecord
from load_records import LoadCounters, RequestRecord
from reasons import Reason

Shares = tuple[float, ...]  # of the steps in which the first 1, 2, ... draft tokens were accepted: never rising


def accepted_shares(load: LoadRecord, requests: Sequence[RequestRecord], speculates: bool | None) -> Shares | None:
    """The shares of the decode steps after the first token of these requests; a step without a draft accepted none.

    Empty for a server known not to speculate; None where the counters do not say.
    """
    if speculates is False:
        return ()
    gained = gained_over(load, requests)
    if isinstance(gained, Reason):
        return None
    steps = decode_steps(gained, len(requests), speculates)
    accepted = [_accepted(load.counters, segment) for segment in {request.segment for request in requests}]
    if isinstance(steps, Reason) or not all(accepted):
        return None
    sums = [sum(column) for column in zip_longest(*filter(None, accepted), fillvalue=0.0)]
    return tuple(accumulate((min(1.0, count / steps) for count in sums), min))


def _accepted(counters: Sequence[LoadCounters], segment: int | None) -> list[float] | None:
    """Tokens accepted at each position over a segment, all ranks together."""
    before = [c.accepted_per_pos_total or [] for c in counters if c.segment == segment]
    after = [c.accepted_per_pos_total for c in counters if segment is not None and c.segment == segment + 1]
    known = [one for one in after if one]
    if not known or len(known) != len(after):
        return None
    width = max(map(len, known))
    return [_at(known, place) - _at(before, place) for place in range(width)]


def _at(ranks: Sequence[Sequence[float]], place: int) -> float:
    """A position that is not counted yet is at zero."""
    return sum(rank[place] for rank in ranks if place < len(rank))
