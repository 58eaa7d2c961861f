"""The table of all numbers: one column per arm, in collapsible sections, with better and worse values marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from analysis.comparison.arms import Arm
from analysis.evidence.objectives import Objective
from analysis.metrics.definition import Section
from analysis.metrics.registry import MetricId
from reports.arms.arm_metrics import ArmMetrics, has_differences, metric_names
from reports.runs.run_metrics import NO_VALUE, MetricValue, objective_of
from web import markup
from web.compare.answer.overview import Colors
from web.metric_words import meaning_of, metric_text, metric_unit
from web.theme import DASH
from web.words import reason_text

OPEN_SECTIONS = (Section.SPEED, Section.LATENCY)


Interval = tuple[float, float]
# The ids of the arms that may be ranked against the first, each with the interval of its ratio, if it has one.
RankedArms = Callable[[Objective | None], Mapping[str, Interval | None]]


class TableColumns(NamedTuple):
    """The arms of the table, and which of them are ranked against the first, by objective."""

    arms: Sequence[Arm]
    ranked_arms: RankedArms
    colors: Colors
    margin: float  # a ratio whose interval reaches nearer to 1 is marked as neither better nor worse


def metric_sections(columns: TableColumns, metrics: ArmMetrics) -> str:
    """Return the sections as markup; those of which nothing is known are one, at the end.

    metrics: arm id -> its numbers.
    """
    names = metric_names(metrics)
    sections = {section: [metric for metric in names if metric.definition.section is section] for section in Section}
    unknown_sections = {
        section: section_metrics
        for section, section_metrics in sections.items()
        if section_metrics and not any(_is_known(metric, metrics) for metric in section_metrics)
    }
    known_sections = "".join(
        _section(section, section_metrics, columns, metrics)
        for section, section_metrics in sections.items()
        if section_metrics and section not in unknown_sections
    )
    return known_sections + _unknown_sections(unknown_sections)


def _is_known(metric: MetricId, metrics: ArmMetrics) -> bool:
    return any(values.get(metric, NO_VALUE).value is not None for values in metrics.values())


def _unknown_sections(unknown_sections: Mapping[Section, Sequence[MetricId]]) -> str:
    """One folded section that names the sections of which nothing is known, and their numbers; '' if there is none."""
    if not unknown_sections:
        return ""
    titles = ", ".join(section.value for section in unknown_sections)
    lines = "".join(
        f'<p class="pw-unknown">{section.value}: {markup.text(_titles_of(section_metrics))}.</p>'
        for section, section_metrics in unknown_sections.items()
    )
    return f'<details class="pw-section"><summary>Not known: {titles}</summary>{lines}</details>'


def _titles_of(section_metrics: Sequence[MetricId]) -> str:
    return ", ".join(metric.title.replace(", ", " ") for metric in section_metrics)


def _section(section: Section, section_metrics: Sequence[MetricId], columns: TableColumns, metrics: ArmMetrics) -> str:
    """Rows without any value are listed in one line below the table."""
    by_name = {metric: [metrics[arm.id].get(metric, NO_VALUE) for arm in columns.arms] for metric in section_metrics}
    known_values = {
        metric: values for metric, values in by_name.items() if any(value.value is not None for value in values)
    }
    unknown = _titles_of([metric for metric in section_metrics if metric not in known_values])
    head = ["", *(markup.colored_name(arm.name, columns.colors[arm.id]) for arm in columns.arms)]
    rows = [_row(metric, values, columns, has_differences(metric, metrics)) for metric, values in known_values.items()]
    body = markup.table(head, rows, is_numeric=True)
    unranked_notes = "".join(map(_unranked_note, known_values))
    unknown_note = f'<p class="pw-unknown">Not known: {markup.text(unknown)}.</p>' if unknown else ""
    is_open = " open" if section in OPEN_SECTIONS else ""
    content = f"{body}{unranked_notes}{unknown_note}"
    return f'<details class="pw-section"{is_open}><summary>{section.value}</summary>{content}</details>'


def _row(metric: MetricId, values: Sequence[MetricValue], columns: TableColumns, with_ratios: bool) -> list[str]:
    ranked = columns.ranked_arms(objective_of(metric)) if metric.definition.is_ranked and with_ratios else {}
    bases = [values[0].value if arm.id in ranked else None for arm in columns.arms]
    intervals = [ranked.get(arm.id) for arm in columns.arms]
    cells = [
        _cell(metric, value, base, _is_beyond(interval, columns.margin))
        for value, base, interval in zip(values, bases, intervals, strict=True)
    ]
    return [markup.hint(metric.title, meaning_of(metric)), *cells]


def _unranked_note(metric: MetricId) -> str:
    """The meaning of a number that is never ranked, shown without hovering; '' for others."""
    if metric.definition.is_ranked or metric.definition.is_count:
        return ""
    return f'<p class="pw-unknown">{markup.text(metric.title)}: {markup.text(meaning_of(metric))}.</p>'


def _is_beyond(interval: Interval | None, margin: float) -> bool:
    """Whether the interval of a ratio lies wholly beyond the margin around 1, on one side of it."""
    return interval is not None and (interval[0] > 1 + margin or interval[1] < 1 / (1 + margin))


def _cell(metric: MetricId, value: MetricValue, base: float | None, is_certain: bool) -> str:
    if value.value is None:
        return markup.number(DASH, why=reason_text(value.reason) or "not known")
    number = markup.number(metric_text(metric, value.value), metric_unit(metric))
    if not metric.definition.is_ranked:
        return number if metric.definition.is_count else markup.unmeasured(number)
    if metric.key == "position_acceptance":
        return f'{number} <span class="pw-share" style="--pw-share:{min(100.0 * value.value, 100.0):.0f}%"></span>'
    return number + (_delta(metric, value.value / base, is_certain) if base and value.value else "")


def _delta(metric: MetricId, ratio: float, is_certain: bool) -> str:
    """The ratio; one whose interval lies beyond the margin in bold with an arrow and 'better' or 'worse'."""
    if not is_certain or metric.definition.higher_is_better is None:
        return f' <span class="pw-delta">{ratio:.2f}×</span>'
    is_good = (ratio > 1) == metric.definition.higher_is_better
    arrow, verdict = ("▲" if ratio > 1 else "▼"), ("better" if is_good else "worse")
    return f' <span class="pw-delta pw-{verdict}" title="{verdict}">{arrow} {ratio:.2f}×</span>'
