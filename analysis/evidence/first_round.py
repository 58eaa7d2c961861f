"""The first round of a load's requests against later ones of the same requests: a server that was not warm yet.

Shapes that are compiled at their first use, graphs that are captured, caches that fill: the first requests of a kind
then take longer than the same requests later, and a load's value contains both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import fmean
from typing import NamedTuple

from analysis.evidence.loads import LoadRecord, decode_tokens, has_decoding
from load_records import RequestRecord


class FirstRound(NamedTuple):
    """The first requests of each kind in one load."""

    slowness: float  # their time per token over that of later ones of the same kind
    effect_log: float  # of the logarithm of the load's mean time per token: what the first ones add to it


def first_round(load: LoadRecord, concurrency: int | None) -> FirstRound | None:
    """Compare the first requests of each kind with later ones; None if no kind was sent again later.

    concurrency: of the phases looked at; None: all. The first requests of a phase with several streams are one per
    stream, which run together.
    """
    requests = [r for r in load.measured if concurrency in (None, r.concurrency) and has_decoding(r)]
    texts = Counter((r.concurrency, r.prompt_hash) for r in requests)
    groups: dict[Hashable, list[RequestRecord]] = {}
    for request in requests:
        kind = request.prompt_hash if texts[request.concurrency, request.prompt_hash] > 1 else _size(request)
        groups.setdefault((request.concurrency, request.prompt_class, kind), []).append(request)
    pairs = [(group[:streams], group[streams:]) for group in groups.values() for streams in [group[0].concurrency or 1]]
    repeated = [(_token_ms(first), _token_ms(later), len(first), len(later)) for first, later in pairs if later]
    if not repeated:
        return None
    slowness = fmean(math.log(first / later) for first, later, _, _ in repeated)
    effects = [math.log((first * n + later * m) / (n + m) / later) for first, later, n, m in repeated]
    return FirstRound(math.exp(slowness), fmean(effects))


def _size(request: RequestRecord) -> Hashable:
    """Return the limit of the answer, which texts that are sent only once may share."""
    return request.sampling.get("max_tokens")


def _token_ms(requests: Sequence[RequestRecord]) -> float:
    """Return the mean decode time per token; prefill depends on what the prefix cache holds by then."""
    return fmean((request.decode_ms or 0.0) / decode_tokens(request) for request in requests)
