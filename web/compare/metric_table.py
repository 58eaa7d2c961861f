"""One table of all numbers, a column an arm, that folds by section; better and worse are marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median

from analysis.arms import Arm
from reports.run_metrics import Named, Section, Values
from web import markup
from web.compare.answer_cards import Colors
from web.theme import DASH, three_digits

SMALL = 0.02  # a number within 2 % of the baseline's is marked as neither
POSITION = "Accepted up to position "
OPEN = (Section.SPEED, Section.LATENCY)


def metric_sections(arms: Sequence[Arm], metrics: Mapping[str, Values], ranked: Collection[str], colors: Colors) -> str:
    """`metrics`: run id -> its numbers; `ranked`: ids of arms that may be held against the first."""
    names = list(dict.fromkeys(named for values in metrics.values() for named in values))
    sections = [(section, [named for named in names if named.section is section]) for section in Section]
    return "".join(_section(section, mine, arms, metrics, ranked, colors) for section, mine in sections if mine)


def _section(
    section: Section,
    names: Sequence[Named],
    arms: Sequence[Arm],
    metrics: Mapping[str, Values],
    ranked: Collection[str],
    colors: Colors,
) -> str:
    """Rows that nobody knows are named in one line."""
    told = {named: [_of_arm(arm, metrics, named) for arm in arms] for named in names}
    known = {named: values for named, values in told.items() if any(value is not None for value in values)}
    unknown = [named.title for named in names if named not in known]
    head = ["", *(markup.named(arm.name, colors[arm.id]) for arm in arms)]
    rows = [_row(named, values, arms, ranked) for named, values in known.items()]
    body = markup.table(head, rows, is_numeric=True) if rows else ""
    rest = f'<p class="pw-muted">Not known: {markup.text(", ".join(unknown))}.</p>' if unknown else ""
    is_open = " open" if section in OPEN and rows else ""
    return f'<details class="pw-section"{is_open}><summary>{section.value}</summary>{body}{rest}</details>'


def _of_arm(arm: Arm, metrics: Mapping[str, Values], named: Named) -> float | None:
    """The median of its runs that tell it."""
    values = [value for run in arm.runs if (value := metrics[run.run_id].get(named)) is not None]
    return median(values) if values else None


def _row(named: Named, values: Sequence[float | None], arms: Sequence[Arm], ranked: Collection[str]) -> list[str]:
    base = values[0]
    cells = [_cell(named, value, base if arm.id in ranked else None) for value, arm in zip(values, arms, strict=True)]
    return [markup.hint(named.title, named.meaning), *cells]


def _cell(named: Named, value: float | None, base: float | None) -> str:
    if value is None:
        return markup.number(DASH, why="not known")
    shown = markup.number(three_digits(value), named.unit)
    if named.title.startswith(POSITION):
        return f'{shown} <span class="pw-share" style="--pw-share:{min(value, 100.0):.0f}%"></span>'
    return shown + (_delta(named, value / base) if base and value else "")


def _delta(named: Named, ratio: float) -> str:
    """The ratio, bold, with an arrow and whether that is good."""
    if abs(ratio - 1) <= SMALL or named.higher_is_better is None:
        return f' <span class="pw-delta">{ratio:.2f}×</span>'
    is_good = (ratio > 1) == named.higher_is_better
    arrow, words = ("▲" if ratio > 1 else "▼"), ("better" if is_good else "worse")
    return f' <span class="pw-delta pw-{words}" title="{words}">{arrow} {ratio:.2f}×</span>'
