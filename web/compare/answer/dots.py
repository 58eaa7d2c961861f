"""Dot strips: replicates as dots with their mean, the interval as a bar, the smallest relevant difference as a band."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.compare_arms import ArmComparison
from analysis.verdict import Ratio
from web.compare.answer.sentence import replicate_values

SMALLEST_SPAN = math.log(1.1)  # so that a few percent look small


def page_span(answers: Sequence[ArmComparison], rungs: Sequence[Sequence[ArmComparison]] = ()) -> float:
    """Return the log of the largest ratio on any strip of a page, so that all of them share one scale.

    rungs: the answers at each concurrency.
    """
    values = [value for answer in answers for value in _drawn_values(answer)]
    parts = [part.ratio for answer in answers if answer.is_ranked for part in answer.classes]
    values += [end for ratio in (*parts, *_factors(answers)) for end in (ratio.ratio, *(ratio.interval or ()))]
    judgements = [answer.judgement for rung in rungs for answer in rung if answer.is_ranked and answer.judgement]
    values += [end for judgement in judgements for end in (judgement.ratio, *(judgement.interval or ()))]
    return max([SMALLEST_SPAN, *(abs(math.log(value)) for value in values if 0 < value < math.inf)]) * 1.04


def _factors(answers: Sequence[ArmComparison]) -> list[Ratio]:
    return [factor for answer in answers for factor in answer.factors]


def _drawn_values(answer: ArmComparison) -> list[float]:
    if answer.judgement is None:
        return []
    baseline, compared = relative_values(answer)
    return [*baseline, *compared, *(answer.judgement.interval or ())]


def relative_values(answer: ArmComparison) -> tuple[list[float], list[float]]:
    """Return each start's value over the baseline's mean: those of the baseline, those of the compared arm."""
    baseline, compared = replicate_values(answer)
    mean = math.exp(sum(map(math.log, baseline)) / len(baseline))
    return [value / mean for value in baseline], [value / mean for value in compared]


def strip(
    values: Sequence[float],
    span: float,
    margin: float,
    mean: float | None = None,
    interval: tuple[float, float] | None = None,
) -> str:
    """One strip on a log scale from 1/e^span to e^span, with 1 in the middle; irrelevant differences are shaded."""
    band = _box("pw-band", 1 / (1 + margin), 1 + margin, span) if margin else ""
    bar = _box("pw-interval", *interval, span) if interval else ""
    dots = "".join(
        f'<span class="pw-dot" style="left:{position_percent(value, span):.2f}%"></span>' for value in values
    )
    middle = f'<span class="pw-mean" style="left:{position_percent(mean, span):.2f}%"></span>' if mean else ""
    return f'<span class="pw-strip" aria-hidden="true">{band}{bar}{dots}{middle}</span>'


def _box(css_class: str, low: float, high: float, span: float) -> str:
    start_percent, end_percent = position_percent(low, span), position_percent(high, span)
    width = max(end_percent - start_percent, 0.4)
    return f'<span class="{css_class}" style="left:{start_percent:.2f}%;width:{width:.2f}%"></span>'


def position_percent(ratio: float, span: float) -> float:
    """Return the position in percent of the strip's width, clipped to its ends."""
    return min(100.0, max(0.0, 50.0 + 50.0 * math.log(ratio) / span)) if ratio > 0 else 0.0
