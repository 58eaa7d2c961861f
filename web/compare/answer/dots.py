"""Replicates as dots beside their mean, the interval as a bar, the smallest difference that matters as a band."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import Ratio
from web.compare.answer.sentence import values_of

SMALLEST_SPAN = math.log(1.1)  # so that a few per cent look like a few per cent


def span_of(answers: Sequence[Comparison], more: Iterable[Ratio] = ()) -> float:
    """The log of the largest ratio that is drawn, so that all strips of a page share one scale."""
    drawn = [ratio for answer in answers for ratio in _drawn(answer)]
    drawn += [end for one in more for end in (one.ratio, *(one.interval or ()))]
    return max([SMALLEST_SPAN, *(abs(math.log(ratio)) for ratio in drawn if 0 < ratio < math.inf)]) * 1.04


def _drawn(answer: Comparison) -> list[float]:
    if answer.judgement is None:
        return []
    mine, theirs = relative_values(answer)
    return [*mine, *theirs, *(answer.judgement.interval or ())]


def relative_values(answer: Comparison) -> tuple[list[float], list[float]]:
    """Each start's value over the mean of the baseline: of the baseline, of the other arm."""
    baseline, other = values_of(answer)
    mean = math.exp(sum(map(math.log, baseline)) / len(baseline))
    return [value / mean for value in baseline], [value / mean for value in other]


def strip(
    values: Sequence[float],
    span: float,
    margin: float,
    mean: float | None = None,
    interval: tuple[float, float] | None = None,
) -> str:
    """One strip on a logarithmic scale from 1/e^span to e^span, 1 in the middle; what does not matter is shaded."""
    band = _box("pw-band", 1 / (1 + margin), 1 + margin, span) if margin else ""
    bar = _box("pw-interval", *interval, span) if interval else ""
    dots = "".join(f'<span class="pw-dot" style="left:{_place(value, span):.2f}%"></span>' for value in values)
    middle = f'<span class="pw-mean" style="left:{_place(mean, span):.2f}%"></span>' if mean else ""
    return f'<span class="pw-strip" aria-hidden="true">{band}{bar}{dots}{middle}</span>'


def _box(kind: str, low: float, high: float, span: float) -> str:
    left, right = _place(low, span), _place(high, span)
    return f'<span class="{kind}" style="left:{left:.2f}%;width:{max(right - left, 0.4):.2f}%"></span>'


def _place(ratio: float, span: float) -> float:
    """Per cent of the strip's width; what lies beyond its ends stands at them."""
    return min(100.0, max(0.0, 50.0 + 50.0 * math.log(ratio) / span)) if ratio > 0 else 0.0
