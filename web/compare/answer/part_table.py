"""What the headline is made of: a row for each kind of prompt, or for each number of requests at once."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.arms import Arm
from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import Part, Ratio
from web import markup
from web.compare.answer.answer_cards import Colors
from web.compare.answer.dots import span_of, strip
from web.compare.answer.sentence import FACTOR_TITLES
from web.theme import DASH, three_digits

Rungs = Sequence[Sequence[Comparison]]  # the answers of each rung, the lowest first


def class_table(arms: Sequence[Arm], answers: Sequence[Comparison], colors: Colors) -> str:
    """Kinds of prompts of a sequential load; '' where there is one kind alone, which is the headline."""
    names = list(dict.fromkeys(part.ratio.name for answer in answers for part in answer.parts))
    if len(names) < 2:
        return ""
    rows = [
        [markup.text(name), *_cells([ranked_part(answer, name) for answer in answers], answers[0].margin)]
        for name in names
    ]
    return _table("Kind of prompt", arms, rows, colors)


def rung_table(arms: Sequence[Arm], rungs: Rungs, colors: Colors) -> str:
    """Numbers of requests at once, each for itself: there is no mean over them."""
    if len(rungs) < 2:
        return ""
    rows = [
        [f"{rung[0].pair.objective.concurrency} at once", *_cells([ranked_whole(one) for one in rung], rung[0].margin)]
        for rung in rungs
    ]
    return _table("Output tok/s", arms, rows, colors)


def _table(title: str, arms: Sequence[Arm], rows: Sequence[Sequence[str]], colors: Colors) -> str:
    head = [title, *(markup.named(arm.name, colors[arm.id]) for arm in arms)]
    columns = [f'<div style="--pw-run:{markup.run_css_color(colors[arm.id])}">' for arm in arms]
    body = [
        [name, *(f"{column}{cell}</div>" for column, cell in zip(columns, cells, strict=True))] for name, *cells in rows
    ]
    return markup.table(head, body, is_numeric=True)


def ranked_part(answer: Comparison, name: str) -> Part | None:
    """One kind of prompt; None where the arm is not ranked."""
    return next((part for part in answer.parts if part.ratio.name == name), None) if answer.is_ranked else None


def ranked_whole(answer: Comparison) -> Part | None:
    """The whole answer as a part; None where the arm is not ranked."""
    judged = answer.judgement
    if judged is None or not answer.is_ranked:
        return None
    first, second = ([one.value for one in side if one.value] for side in answer.replicates)
    means = (sum(first) / len(first), sum(second) / len(second))
    return Part(Ratio(answer.pair.objective.name, judged.ratio, means, judged.interval), answer.factors)


def _cells(parts: Sequence[Part | None], margin: float) -> list[str]:
    """The baseline's value, then each arm's with its ratio, interval and factors."""
    base = next((part.ratio.values[0] for part in parts if part), None)
    span = span_of([], [part.ratio for part in parts if part])
    return [f"{three_digits(base)} <small>tok/s</small>", *(_cell(part, span, margin) for part in parts)]


def _cell(part: Part | None, span: float, margin: float) -> str:
    if part is None:
        return markup.number(DASH, why="it is not ranked")
    ratio = part.ratio
    between = f"{ratio.interval[0]:.2f} to {ratio.interval[1]:.2f}" if ratio.interval else "no interval"
    split = [f"{FACTOR_TITLES[one.name]} {one.ratio:.2f}×" for one in part.factors]
    lines = [
        f"<b>{ratio.ratio:.2f}×</b> {three_digits(ratio.values[1])} <small>tok/s</small>",
        f"<small>{between}</small>",
    ]
    lines += [
        strip([], span, margin, ratio.ratio, ratio.interval),
        *(f"<small>{markup.text(one)}</small>" for one in split),
    ]
    return "".join(f'<span class="pw-line">{line}</span>' for line in lines)
