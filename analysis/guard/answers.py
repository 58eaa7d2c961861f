"""What the servers answered: how long, and whether it repeats itself."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from analysis.guard.rows import Pair, Row, RowCode, Standing, compared_requests
from load_records import RequestRecord

MOST_LENGTH_RATIO = 1.5  # of the medians within a class
NOTED_LENGTH_RATIO = 1.02
MORE_LOOPED = 0.10  # share of the text


def lengths(pair: Pair) -> Row:
    """Tokens of the answers by class: another length is another load."""
    first, second = (_by_class(compared_requests(pair, arm)) for arm in pair.arms)
    ratios = {name: max(first[name], second[name]) / min(first[name], second[name]) for name in first if name in second}
    if not ratios:
        return Row(RowCode.LENGTHS, Standing.UNKNOWN)
    worst = max(ratios, key=lambda name: ratios[name])
    values = {"prompt_class": worst, "tokens": (first[worst], second[worst]), "ratio": ratios[worst]}
    if ratios[worst] > MOST_LENGTH_RATIO:
        return Row(RowCode.LENGTHS, Standing.MATTERS, values)
    return Row(RowCode.LENGTHS, Standing.TOLD if ratios[worst] > NOTED_LENGTH_RATIO else Standing.SAME, values)


def _by_class(requests: Sequence[RequestRecord]) -> dict[str, float]:
    tokens: dict[str, list[int]] = {}
    for request in requests:
        tokens.setdefault(request.prompt_class, []).append(request.completion_tokens or 0)
    return {name: median(counts) for name, counts in tokens.items()}


def loops(pair: Pair) -> Row:
    """Drafts are easily right about text that repeats itself: an arm that is faster because it loops is not better.

    With ignore_eos the text goes on after the answer's natural end, and what it does there is noted only.
    """
    asked = [compared_requests(pair, arm) for arm in pair.arms]
    shares = [_looped_share(requests) for requests in asked]
    if shares[0] is None or shares[1] is None:
        return Row(RowCode.LOOPS, Standing.UNKNOWN)
    values = {"looped": (shares[0], shares[1]), "past_the_end": all(map(_goes_on, [*asked[0], *asked[1]]))}
    if max(shares[0], shares[1]) <= MORE_LOOPED:
        return Row(RowCode.LOOPS, Standing.SAME, values)
    more = shares[1] - shares[0] if pair.is_other_faster else shares[0] - shares[1]
    is_why = more > MORE_LOOPED and pair.is_other_faster is not None and not values["past_the_end"]
    return Row(RowCode.LOOPS, Standing.MATTERS if is_why else Standing.TOLD, values)


def _looped_share(requests: Sequence[RequestRecord]) -> float | None:
    """Mean share of the answers' words that lie in loops; None where one was not judged."""
    judged = [r.extra["collapse"]["looped_ratio"] for r in requests if r.extra.get("collapse")]
    return sum(judged) / len(judged) if judged and len(judged) == len(requests) else None


def _goes_on(request: RequestRecord) -> bool:
    return bool(request.sampling.get("ignore_eos"))
