"""Runs put together by their arm or a field: a row a group with the mean of its server starts, folded out on demand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.run_groups import RunGroup, run_groups
from analysis.runs.run_line import RunLine
from domain import Run
from reports.arms.facts import processes_of
from reports.arms.run_arms import run_arms
from storage.ask.queries import Asked
from storage.ask.run_fields import FIELDS, field_values
from storage.ask.run_queries import NUMBERS
from web import markup
from web.compare.answer.dots import SMALLEST_SPAN, strip
from web.context import services
from web.fleet import away_ids
from web.kept import choose_one
from web.runs.table.field_words import field_words
from web.runs.table.run_table import run_table
from web.theme import three_digits

NOT_GROUPED, ARM = "", "arm"
GROUPS = {NOT_GROUPED: "no group", ARM: "configuration"} | {name: field.title for name, field in FIELDS.items()}
SPEEDS = {
    "stream": "Stream, tok/s",
    "output": "Output, tok/s",
    "typical": "Typical, tok/s",
    "peak": "Peak, tok/s",
    "acceptance": "Acceptance length",
}
MOST_GROUPS = 60
WIDTH_PX = 190
ABOUT = (
    "The mean is the geometric one over server starts, the interval 95 % by Student's t; dots are the starts, all "
    "strips have one scale. Runs that met one server process are one start."
)
OF_SEVERAL = "A group may hold several configurations: its interval then says how far those lie apart, too."


def choose_grouping() -> tuple[str, str]:
    """What runs are put together by, and the speed that a group is shown by; the address keeps both."""
    by = choose_one("Group by", "group", "runs", GROUPS, NOT_GROUPED, WIDTH_PX)
    speed = choose_one("Speed of a group", "speed", "runs", SPEEDS, "stream", WIDTH_PX) if by else "stream"
    return by, speed


def grouped_runs(
    found: Sequence[Run],
    lines: Mapping[str, RunLine],
    by: str,
    speed: str,
    columns: Sequence[str],
    machines: Mapping[str, str],
    cut: str,
) -> None:
    """The groups of these runs, the fastest first; a click on one folds its runs out, which the address keeps.

    cut: of how many these runs are a part, in words; empty where they are all.
    """
    store, away = services().store, away_ids(found)
    runs = [run for run in found if run.id not in away]
    if away:
        st.caption(
            f"Of other machines and in no group: {len(away):,} runs. Their numbers are read when they are opened."
        )
    keys, titles = _keys(store, runs, by, machines)
    values = {run.id: getattr(lines[run.id], NUMBERS[speed]) if run.id in lines else None for run in runs}
    groups = run_groups(keys, values, processes_of(store, runs))
    opened = st.query_params.get_all("open")
    middle, span = _scale(groups)
    by_id = {run.id: run for run in runs}
    for place, group in enumerate(groups[:MOST_GROUPS]):
        is_open = group.key in opened
        _head(place, group, titles[group.key], is_open, (SPEEDS[speed], middle, span))
        if is_open:
            said = f"{len(group.run_ids):,} of this group"
            run_table([by_id[run_id] for run_id in group.run_ids], lines, columns, machines, said, group.key)
    more = f" {len(groups) - MOST_GROUPS:,} further groups are not shown: filter." if len(groups) > MOST_GROUPS else ""
    of = cut or f" of {len(runs):,} runs"
    st.caption(f"{len(groups):,} groups{of}. {ABOUT}{'' if by == ARM else ' ' + OF_SEVERAL}{more}")


def _keys(
    store: Asked, runs: Sequence[Run], by: str, machines: Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Run id -> the keys of its groups, and key -> what a group is called."""
    if by == ARM:
        arms = run_arms(store, runs)
        keys = {run.run_id: [arm.key] for arm in arms for run in arm.runs}
        return {run.id: keys[run.id] for run in runs}, {arm.key: arm.name for arm in arms}
    by_run = field_values(store, [run.id for run in runs], by)
    return by_run, {value: field_words(by, value, machines) for values in by_run.values() for value in values}


def _scale(groups: Sequence[RunGroup]) -> tuple[float, float]:
    """The middle of all that is drawn, and the log of how far it reaches from there."""
    drawn = [value for group in groups for value in (*group.values, *(group.interval or ())) if value > 0]
    if not drawn:
        return 1.0, SMALLEST_SPAN
    low, high = math.log(min(drawn)), math.log(max(drawn))
    return math.exp((low + high) / 2), max(SMALLEST_SPAN, (high - low) / 2) * 1.04


def _head(place: int, group: RunGroup, title: str, is_open: bool, drawn: tuple[str, float, float]) -> None:
    """The row of one group; its name is the button that folds it out."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"run-group-{place}", gap="small"):
        st.button(
            markup.markdown_text(title),
            key=f"fold-{place}",
            icon=":material/expand_more:" if is_open else ":material/chevron_right:",
            type="tertiary",
            on_click=_fold,
            args=(group.key,),
            help="Hide its runs" if is_open else "Show its runs",
        )
        st.html(_numbers(group, *drawn))


def _fold(key: str) -> None:
    """Into the address or out of it: so Back undoes it."""
    opened = st.query_params.get_all("open")
    left = [one for one in opened if one != key] if key in opened else [*opened, key]
    if left:
        st.query_params["open"] = left
    else:
        del st.query_params["open"]


def _numbers(group: RunGroup, unit: str, middle: float, span: float) -> str:
    """Runs, mean and interval of a group as markup."""
    interval = group.interval and (group.interval[0] / middle, group.interval[1] / middle)
    dots = strip([value / middle for value in group.values], span, 0.0, group.mean and group.mean / middle, interval)
    words = unit.rpartition(", ")[2].lower()
    mean = f"<b>{markup.number(three_digits(group.mean), words)}</b>"
    cells = [markup.text(counts(group)), mean, markup.text(spread(group)), dots]
    return f'<div class="pw-group">{"".join(f"<span>{cell}</span>" for cell in cells)}</div>'


def counts(group: RunGroup) -> str:
    """'5 runs, 3 starts, 1 without a value'."""
    runs, starts = len(group.run_ids), group.starts
    words = [f"{runs:,} run{'s' * (runs != 1)}", f"{starts:,} start{'s' * (starts != 1)}"]
    return ", ".join(words + ([f"{group.unknown:,} without a value"] if group.unknown else []))


def spread(group: RunGroup) -> str:
    """The interval in words, or why there is none."""
    if group.interval:
        return f"{three_digits(group.interval[0])} to {three_digits(group.interval[1])}"
    if not group.values:
        return "not known of any start"
    return "one start: no interval" if len(group.values) == 1 else "all starts alike: no interval"
