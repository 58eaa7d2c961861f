"""Breakdown tables of the headline answer: one row per kind of prompt, or one per concurrency."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.compare_arms import ArmComparison
from analysis.comparison.arms import Arm
from analysis.comparison.replicates import ClassComparison
from analysis.verdict import FactorEffect, FactorFinding, Ratio
from web import markup
from web.compare.answer.dots import strip
from web.compare.answer.overview import Colors
from web.compare.answer.sentence import FACTOR_TITLES
from web.theme import DASH, three_digits

Rungs = Sequence[Sequence[ArmComparison]]  # the answers at each concurrency, lowest first


def class_table(arms: Sequence[Arm], answers: Sequence[ArmComparison], colors: Colors, span: float) -> str:
    """Kinds of prompts of a sequential load, as markup; '' for a single kind, the headline. span: the page's."""
    names = list(dict.fromkeys(part.ratio.name for answer in answers for part in answer.classes))
    if len(names) < 2:
        return ""
    rows = [
        [markup.text(name), *_cells([ranked_part(answer, name) for answer in answers], answers[0].margin, span)]
        for name in names
    ]
    return _table("Kind of prompt", arms, rows, colors)


def rung_table(arms: Sequence[Arm], rungs: Rungs, colors: Colors, span: float) -> str:
    """Concurrencies one by one, as markup; there is no mean over them. span: the page's."""
    if len(rungs) < 2:
        return ""
    rows = [
        [
            f"{rung[0].pair.objective.concurrency} at once",
            *_cells([ranked_whole(answer) for answer in rung], rung[0].margin, span),
        ]
        for rung in rungs
    ]
    return _table("Output tok/s", arms, rows, colors)


def _table(title: str, arms: Sequence[Arm], rows: Sequence[Sequence[str]], colors: Colors) -> str:
    head = [title, *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
    columns = [f'<div style="--pw-run:{markup.run_css_color(colors[arm.id])}">' for arm in arms]
    body = [
        [name, *(f"{column}{cell}</div>" for column, cell in zip(columns, cells, strict=True))] for name, *cells in rows
    ]
    return markup.table(head, body, is_numeric=True)


def ranked_part(answer: ArmComparison, name: str) -> ClassComparison | None:
    """Return one kind of prompt; None if the arm is not ranked."""
    return next((part for part in answer.classes if part.ratio.name == name), None) if answer.is_ranked else None


def ranked_whole(answer: ArmComparison) -> ClassComparison | None:
    """Return the whole answer as a part; None if the arm is not ranked."""
    judgement = answer.judgement
    if judgement is None or not answer.is_ranked:
        return None
    first, second = ([replicate.value for replicate in side if replicate.value] for side in answer.replicates)
    means = (sum(first) / len(first), sum(second) / len(second))
    return ClassComparison(
        Ratio(answer.pair.objective.name, judgement.ratio, means, judgement.interval), answer.factors
    )


def _cells(parts: Sequence[ClassComparison | None], margin: float, span: float) -> list[str]:
    """The baseline's value, then each arm's value with its ratio, interval and factors."""
    base = next((part.ratio.values[0] for part in parts if part), None)
    return [f"{three_digits(base)} <small>tok/s</small>", *(_cell(part, span, margin) for part in parts)]


def _cell(part: ClassComparison | None, span: float, margin: float) -> str:
    if part is None:
        return markup.number(DASH, why="this arm is not ranked")
    ratio = part.ratio
    interval = f"{ratio.interval[0]:.2f} to {ratio.interval[1]:.2f}" if ratio.interval else "no interval"
    factor_texts = [_factor_text(factor) for factor in part.factors]
    lines = [
        f"<b>{ratio.ratio:.2f}×</b> {three_digits(ratio.values[1])} <small>tok/s</small>",
        f"<small>{interval}</small>",
    ]
    lines += [
        strip([], span, margin, ratio.ratio, ratio.interval),
        *(f"<small>{markup.text(factor_text)}</small>" for factor_text in factor_texts),
    ]
    return "".join(f'<span class="pw-line">{line}</span>' for line in lines)


def _factor_text(factor: FactorEffect) -> str:
    """'steps/s 0.80×'; with its interval if it is not known to differ."""
    text = f"{FACTOR_TITLES[factor.name]} {factor.ratio:.2f}×"
    if factor.finding is not FactorFinding.UNKNOWN or factor.interval is None:
        return text
    return f"{text} (not known to differ: {factor.interval[0]:.2f} to {factor.interval[1]:.2f})"
