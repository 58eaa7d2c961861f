"""One table of all numbers, a column an arm, that folds by section; better and worse are marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from analysis.comparison.arms import Arm
from analysis.evidence.objectives import Objective
from reports.runs.run_metrics import Named, Section, Values
from web import markup
from web.compare.answer.answer_cards import Colors
from web.compare.answer.sentence import is_small
from web.theme import DASH, three_digits

POSITION = "Accepted up to position "
OPEN = (Section.SPEED, Section.LATENCY)


RankedBy = Callable[[Objective | None], Collection[str]]  # the ids of the arms that may be held against the first


class Shown(NamedTuple):
    """The columns of the table, and which of them are held against the first, by what a number is about."""

    arms: Sequence[Arm]
    ranked: RankedBy
    colors: Colors
    margin: float  # a ratio nearer to 1 is marked as neither better nor worse


def metric_sections(shown: Shown, metrics: Mapping[str, Values]) -> str:
    """`metrics`: run id -> its numbers."""
    names = list(dict.fromkeys(named for values in metrics.values() for named in values))
    sections = [(section, [named for named in names if named.section is section]) for section in Section]
    return "".join(_section(section, mine, shown, metrics) for section, mine in sections if mine)


def _section(section: Section, names: Sequence[Named], shown: Shown, metrics: Mapping[str, Values]) -> str:
    """Rows that nobody knows are named in one line."""
    by_name = {named: [value_of_arm(arm, metrics, named) for arm in shown.arms] for named in names}
    known = {named: values for named, values in by_name.items() if any(value is not None for value in values)}
    unknown = ", ".join(named.title.replace(", ", " ") for named in names if named not in known)
    head = ["", *(markup.named(arm.name, shown.colors[arm.id]) for arm in shown.arms)]
    rows = [_row(named, values, shown) for named, values in known.items()]
    body = markup.table(head, rows, is_numeric=True) if rows else ""
    apart = "".join(map(_said_of, known))
    rest = f'<p class="pw-unknown">Not known: {markup.text(unknown)}.</p>' if unknown else ""
    is_open = " open" if section in OPEN and rows else ""
    return f'<details class="pw-section"{is_open}><summary>{section.value}</summary>{body}{apart}{rest}</details>'


def value_of_arm(arm: Arm, metrics: Mapping[str, Values], named: Named) -> float | None:
    """The median of its runs that have it."""
    values = [value for run in arm.runs if (value := metrics[run.run_id].get(named)) is not None]
    return median(values) if values else None


def _row(named: Named, values: Sequence[float | None], shown: Shown) -> list[str]:
    ranked = shown.ranked(named.objective) if named.is_ranked else ()
    bases = [values[0] if arm.id in ranked else None for arm in shown.arms]
    cells = [_cell(named, value, base, shown.margin) for value, base in zip(values, bases, strict=True)]
    return [markup.hint(named.title, named.meaning), *cells]


def _said_of(named: Named) -> str:
    """The meaning of a number that stands apart, to be read without a hover; nothing of others."""
    if named.is_ranked or named.is_count:
        return ""
    return f'<p class="pw-unknown">{markup.text(named.title)}: {markup.text(named.meaning)}.</p>'


def _cell(named: Named, value: float | None, base: float | None, margin: float) -> str:
    if value is None:
        return markup.number(DASH, why="not known")
    shown = markup.number(digits_of(named, value), named.unit)
    if not named.is_ranked:
        return shown if named.is_count else markup.set_apart(shown)
    if named.title.startswith(POSITION):
        return f'{shown} <span class="pw-share" style="--pw-share:{min(value, 100.0):.0f}%"></span>'
    return shown + (_delta(named, value / base, margin) if base and value else "")


def digits_of(named: Named, value: float | None) -> str:
    """The number of an arm as it is written: three significant digits, of a count all."""
    return f"{value:,.0f}" if named.is_count and value is not None else three_digits(value)


def _delta(named: Named, ratio: float, margin: float) -> str:
    """The ratio, bold, with an arrow and whether that is good."""
    if is_small(ratio, margin) or named.higher_is_better is None:
        return f' <span class="pw-delta">{ratio:.2f}×</span>'
    is_good = (ratio > 1) == named.higher_is_better
    arrow, words = ("▲" if ratio > 1 else "▼"), ("better" if is_good else "worse")
    return f' <span class="pw-delta pw-{words}" title="{words}">{arrow} {ratio:.2f}×</span>'
