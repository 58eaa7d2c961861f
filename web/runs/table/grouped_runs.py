"""Runs grouped by arm or by a field: one row per group with the mean of its server starts, expandable to its runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.metrics.registry import LIST_COLUMNS
from analysis.run_groups import RunGroup, group_runs
from analysis.runs.run_line import RunLine
from domain import Run
from reports.arms.facts import processes_of
from reports.arms.run_arms import run_arms
from storage.queries.run_data import Queryable
from storage.queries.run_fields import FIELDS, field_values
from web import markup
from web.compare.answer.dots import SMALLEST_SPAN, strip
from web.context import services
from web.fleet import away_ids
from web.runs.table.field_words import field_value_text
from web.runs.table.run_table import run_table
from web.runs.table.ticked_runs import set_ticked, ticked_ids
from web.theme import three_digits
from web.url_presses import change_url_params
from web.url_state import choose_one

NOT_GROUPED, ARM = "", "arm"
GROUPS = {NOT_GROUPED: "no group", ARM: "configuration"} | {name: field.title for name, field in FIELDS.items()}
SPEEDS = {
    "stream": "Stream, tok/s",
    "output": "Output, tok/s",
    "typical": "Typical, tok/s",
    "peak": "Peak, tok/s",
    "acceptance": "Acceptance length",
}
MAX_GROUPS = 60
WIDTH_PX = 190
ABOUT = (
    "Means are geometric means over server starts with 95 % intervals by Student's t; dots are the starts, and all "
    "strips share one scale. Runs on the same server process count as one start."
)
SEVERAL_CONFIGS_NOTE = "A group may contain several configurations; its interval then also covers their differences."


def choose_grouping() -> tuple[str, str]:
    """Return the grouping and the speed shown for a group; the URL keeps both."""
    by = choose_one("Group by", "group", "runs", GROUPS, NOT_GROUPED, WIDTH_PX)
    speed = choose_one("Speed of a group", "speed", "runs", SPEEDS, "stream", WIDTH_PX) if by else "stream"
    return by, speed


def grouped_runs(
    runs_found: Sequence[Run],
    lines: Mapping[str, RunLine],
    by: str,
    speed: str,
    columns: Sequence[str],
    machines: Mapping[str, str],
    truncation: str,
) -> None:
    """Show the groups of these runs, fastest first; a click on one expands its runs, which the URL keeps.

    truncation: says of how many runs these are the first; '' if they are all.
    """
    store, away_run_ids = services().store, away_ids(runs_found)
    runs = [run for run in runs_found if run.id not in away_run_ids]
    if away_run_ids:
        st.caption(
            f"Runs of other machines are in no group: {len(away_run_ids):,}. "
            "Their numbers are read when they are opened."
        )
    keys, titles = _keys(store, runs, by, machines)
    values = {run.id: lines[run.id][LIST_COLUMNS[speed].key] if run.id in lines else None for run in runs}
    groups = group_runs(keys, values, processes_of(store, runs))
    open_keys = st.query_params.get_all("open")
    middle, span = _scale(groups)
    by_id = {run.id: run for run in runs}
    for index, group in enumerate(groups[:MAX_GROUPS]):
        is_open = group.key in open_keys
        _head(index, group, titles[group.key], is_open, (SPEEDS[speed], middle, span))
        if is_open:
            caption = f"{len(group.run_ids):,} of this group"
            run_table([by_id[run_id] for run_id in group.run_ids], lines, columns, machines, caption, group.key)
    hidden_note = (
        f" {len(groups) - MAX_GROUPS:,} further groups are not shown: filter." if len(groups) > MAX_GROUPS else ""
    )
    total = truncation or f" of {len(runs):,} runs"
    st.caption(f"{len(groups):,} groups{total}. {ABOUT}{'' if by == ARM else ' ' + SEVERAL_CONFIGS_NOTE}{hidden_note}")


def _keys(
    store: Queryable, runs: Sequence[Run], by: str, machines: Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return run id -> the keys of its groups, and key -> title."""
    if by == ARM:
        arms = run_arms(store, runs)
        keys = {run.run_id: [arm.key] for arm in arms for run in arm.runs}
        return {run.id: keys[run.id] for run in runs}, {arm.key: arm.name for arm in arms}
    by_run = field_values(store, [run.id for run in runs], by)
    return by_run, {value: field_value_text(by, value, machines) for values in by_run.values() for value in values}


def _scale(groups: Sequence[RunGroup]) -> tuple[float, float]:
    """Return the centre of all drawn values, and the log of the largest ratio to it."""
    values = [value for group in groups for value in (*group.values, *(group.interval or ())) if value > 0]
    if not values:
        return 1.0, SMALLEST_SPAN
    low, high = math.log(min(values)), math.log(max(values))
    return math.exp((low + high) / 2), max(SMALLEST_SPAN, (high - low) / 2) * 1.04


def _head(index: int, group: RunGroup, title: str, is_open: bool, scale: tuple[str, float, float]) -> None:
    """The row of one group: a box that ticks its runs, and its name, the button that expands it."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"run-group-{index}", gap="small"):
        _tick_box(group, title)
        st.button(
            markup.markdown_text(title),
            key=f"fold-{index}",
            icon=":material/expand_more:" if is_open else ":material/chevron_right:",
            type="tertiary",
            on_click=_fold,
            args=(group.key,),
            help="Hide its runs" if is_open else "Show its runs",
        )
        st.html(_numbers(group, *scale))


def _tick_box(group: RunGroup, title: str) -> None:
    """A box that is ticked while all runs of the group are."""
    key = f"tick-group-{hashlib.sha256(group.key.encode()).hexdigest()[:12]}"
    st.session_state[key] = ticked_ids().issuperset(group.run_ids)
    label = f"Select the runs of {markup.markdown_text(title)}"
    st.checkbox(label, key=key, label_visibility="collapsed", on_change=_follow_box, args=(key, group.run_ids))


def _follow_box(key: str, run_ids: Sequence[str]) -> None:
    set_ticked(run_ids, bool(st.session_state[key]))


def _fold(key: str) -> None:
    """Add the group to the URL or remove it, so that Back undoes it."""
    open_keys = st.query_params.get_all("open")
    is_open = key in open_keys
    change_url_params(
        {"open": [open_key for open_key in open_keys if open_key != key] if is_open else [*open_keys, key]}
    )


def _numbers(group: RunGroup, unit: str, middle: float, span: float) -> str:
    """A group's counts, mean and interval as markup."""
    interval = group.interval and (group.interval[0] / middle, group.interval[1] / middle)
    dots = strip([value / middle for value in group.values], span, 0.0, group.mean and group.mean / middle, interval)
    unit_label = unit.rpartition(", ")[2].lower()
    mean = f"<b>{markup.number(three_digits(group.mean), unit_label)}</b>"
    cells = [markup.text(counts_text(group)), mean, markup.text(spread_text(group)), dots]
    return f'<div class="pw-group">{"".join(f"<span>{cell}</span>" for cell in cells)}</div>'


def counts_text(group: RunGroup) -> str:
    """'5 runs, 3 starts, 1 without a value'; 'no value' if none has one."""
    runs, starts = len(group.run_ids), group.starts
    runs_text = f"{runs:,} run{'s' * (runs != 1)}"
    if group.unknown == runs:
        return f"{runs_text}, no value"
    parts = [runs_text, f"{starts:,} start{'s' * (starts != 1)}"]
    return ", ".join(parts + ([f"{group.unknown:,} without a value"] if group.unknown else []))


def spread_text(group: RunGroup) -> str:
    """The interval as text, or why there is none."""
    if group.interval:
        return f"{three_digits(group.interval[0])} to {three_digits(group.interval[1])}"
    if not group.values:
        return "not known for any start"
    return "one start: no interval" if len(group.values) == 1 else "all starts equal: no interval"
