"""The table of runs that have ended, and what can be done with a selection of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.elements.lib.column_types import ColumnConfig

from analysis.comparison.config_diff import as_started, chips
from analysis.runs.run_line import RunLine
from domain import Run
from notes import RunNote
from reports.runs.run_line import PENDING
from reports.runs.run_report import engine_title
from storage.ask.run_queries import RunChoices
from web import markup
from web.charts import ground, is_phone
from web.kept import choose_some
from web.moments import IN_TABLES, moment_column
from web.runs.table.bulk_actions import bulk_actions
from web.runs.table.head_order import follow_heads
from web.runs.table.run_listing import WAITS, notes_on
from web.theme import DASH, MUTED, run_color, three_digits
from web.words import why

ELSEWHERE = RunLine(None, None, None, None, None, None, None)
READ_LATER = "of another machine: its numbers are read when it is opened or compared"
ROW_PX, HEAD_PX, LEAST_ROWS = 31, 36, 3
WHEN_PX = 172
KEYS = (
    "A press on a name opens its run, one on the title of a column that *In order of* has puts all runs in its order, "
    "the unknown last; another reverses it. In the table arrows move, Enter opens the run of a row, and Space ticks it."
)
PIN = "pin"  # of the address: columns that stand still
TICKED = "ticked-runs"  # their ids: what is ticked stays over other pages and other rows, where it is shown
NAME_PX, NAME_ON_PHONE_PX = 290, 150  # it stands still: on a phone the rest must find room beside it


def _name_column(width_px: int) -> ColumnConfig:
    """The name of a run, which leads to its page."""
    return st.column_config.LinkColumn("Run", display_text=r"#(.+)$", width=width_px, pinned=True)


COLUMNS = {
    "color": st.column_config.ImageColumn("", width=30, pinned=True),
    "name": _name_column(NAME_PX),
    "star": st.column_config.TextColumn("\u2605", width=24, help="Starred"),
    "state": st.column_config.TextColumn("State", width=78),
    "when": st.column_config.Column("Started"),  # in the viewer's time zone: _columns
    "when_utc": st.column_config.DatetimeColumn("Started (UTC)", format=IN_TABLES, timezone="UTC", width=WHEN_PX),
    "tags": st.column_config.ListColumn("Tags", width=120),
    "stream": st.column_config.NumberColumn(
        "Stream, tok/s",
        format="%.1f",
        width=92,
        help="Decode speed of one request alone, by its loads: median of the kinds",
    ),
    "output": st.column_config.NumberColumn(
        "Output, tok/s", format="%.1f", width=92, help="Of all requests together, by its loads, at their most"
    ),
    "typical": st.column_config.NumberColumn(
        "Typical, tok/s", format="%.1f", width=96, help="Median decode speed of the decoding intervals"
    ),
    "peak": st.column_config.NumberColumn(
        "Peak, tok/s", format="%.1f", width=86, help="99th percentile of the decoding intervals of one request alone"
    ),
    "printed": st.column_config.TextColumn(
        "By its log, not ranked",
        width=190,
        help="Where no speed was measured: what the lines of its log print while the server generates, their median. "
        "It is no decode speed; what it counts, and over which time, differs by engine (see the run)",
    ),
    "tokens_per_step": st.column_config.NumberColumn("Tokens/step", format="%.2f", width=84),
    "acceptance": st.column_config.NumberColumn(
        "Acceptance length", format="%.2f", width=144, help="Tokens per verified draft, its own token included"
    ),
    "workload": st.column_config.TextColumn("Workload", width=110),
    "config": st.column_config.TextColumn("Configuration", width=230),
    "machine": st.column_config.TextColumn("Machine", width=110),
    "why": st.column_config.TextColumn("What is missing, or how it ended", width="large"),
}
ALWAYS = ("color", "name")
CHOSEN = [name for name in COLUMNS if name not in ALWAYS]
NUMBERS = {
    "stream": "stream_tps",
    "output": "output_tps",
    "typical": "typical_tps",
    "peak": "peak_tps",
    "printed": "printed_tps",
    "tokens_per_step": "tokens_per_step",
    "acceptance": "acceptance_length",
}  # column -> the number of a RunLine


def choose_columns(choices: RunChoices) -> list[str]:
    """The columns of the table in the order chosen; the address keeps them. One that says nothing is not proposed."""
    default = proposed_columns(choices)
    titles = {name: str(COLUMNS[name]["label"]) for name in CHOSEN}
    with st.popover("Columns", icon=":material/view_column:"):
        st.caption(
            "In the order in which they are chosen. The name of a run always stands first. Until you choose, a number "
            "that none of the runs shown has takes no column."
        )
        chosen = choose_some("Columns", "column", "runs", titles, "as proposed", default) or default
        choose_some("Pinned beside the name", PIN, "runs", titles, "none")
        return [*_pinned(), *(name for name in chosen if name not in _pinned())]


def _pinned() -> list[str]:
    """The columns that stand still beside the name while the rest is moved sideways."""
    return [name for name in st.query_params.get_all(PIN) if name in CHOSEN]


def shown_columns(columns: Sequence[str], choices: RunChoices, lines: Mapping[str, RunLine]) -> list[str]:
    """The columns without the numbers that none of the runs has; what somebody chose stays as it is."""
    pinned = _pinned()
    if [one for one in columns if one not in pinned] != [one for one in proposed_columns(choices) if one not in pinned]:
        return list(columns)
    known = {
        name for name, field in NUMBERS.items() if any(getattr(line, field) is not None for line in lines.values())
    }
    return [name for name in columns if name not in NUMBERS or name in known or name in pinned]


def proposed_columns(choices: RunChoices) -> list[str]:
    """What says something of these runs; the moment in UTC too is for who asks for it."""
    is_proposed = {"when_utc": False, "tags": bool(choices.tags), "machine": len(choices.machines) > 1}
    return [name for name in CHOSEN if is_proposed.get(name, True)]


def run_table(
    runs: Sequence[Run],
    lines: Mapping[str, RunLine],
    columns: Sequence[str],
    machines: Mapping[str, str],
    said: str,
    group: str = "",
    *,
    has_order: bool = True,
) -> None:
    """Show the runs, and what can be done with those that are chosen; `said` is how many they are.

    group: whose table this is, for two groups may have the same runs; has_order: whether a press on a head puts them in
    order, all runs and not those alone that are shown, the unknown last, where Streamlit's own sorting has it first.
    """
    notes = notes_on(runs)
    rows = pd.DataFrame([_row(run, lines.get(run.id, ELSEWHERE), notes[run.id], machines) for run in runs])
    key = _key_of(runs, group)
    # As tall as its rows, and no taller than the window: pitwall.css.
    with st.container(height=HEAD_PX + ROW_PX * max(len(runs), LEAST_ROWS), border=False, key=f"run-rows-{key}"):
        chosen = st.dataframe(
            _with_grey(rows),
            hide_index=True,
            column_config=_columns(runs),
            column_order=[*ALWAYS, *columns],
            on_select=partial(follow_heads, f"ended-runs-{key}"),
            selection_mode=["multi-row", "single-column"] if has_order else "multi-row",
            selection_default={"selection": {"rows": _ticked_before(runs, f"ended-runs-{key}")}},
            key=f"ended-runs-{key}",
            placeholder=DASH,
            height="stretch",
            alt="Runs that have ended",
        )
    selected = [runs[row] for row in chosen["selection"]["rows"] if row < len(runs)]
    others = st.session_state.get(TICKED, frozenset()).difference(run.id for run in runs)
    st.session_state[TICKED] = others.union(run.id for run in selected)
    with st.container(horizontal=True, vertical_alignment="center"):
        bulk_actions(selected, notes, key)
        st.caption(said, help=KEYS)


def _ticked_before(runs: Sequence[Run], key: str) -> list[int]:
    """The rows that were ticked when the table of this key came; Streamlit reports them until it is touched."""
    if key not in st.session_state:
        ticked = st.session_state.get(TICKED, frozenset())
        st.session_state[f"{key}-before"] = [row for row, run in enumerate(runs) if run.id in ticked]
    rows: list[int] = st.session_state[f"{key}-before"]
    return rows


def _columns(runs: Sequence[Run]) -> dict[str, ColumnConfig]:
    """COLUMNS as whoever looks reads them: their time zone, and names that leave room on a phone."""
    when = moment_column("Started", [_when(run) for run in runs], WHEN_PX)
    columns = COLUMNS | {"when": when} | ({"name": _name_column(NAME_ON_PHONE_PX)} if is_phone() else {})
    return columns | {name: ColumnConfig(**{**columns[name], "pinned": True}) for name in _pinned()}


def _when(run: Run) -> datetime:
    return run.started_at or run.created_at


def _key_of(runs: Sequence[Run], group: str) -> str:
    """A key that changes with the rows: a selection counts rows, and must not move to other runs with them."""
    return hashlib.sha256(" ".join([group, *(run.id for run in runs)]).encode()).hexdigest()[:12]


def _row(run: Run, line: RunLine, note: RunNote, machines: Mapping[str, str]) -> dict[str, object]:
    return {
        "color": square(run_color(run.color, ground())),
        "name": f"run?run={run.id}#{run.name}",
        "star": "\u2605" if note.is_starred else "",
        "state": f"\u2717 {run.state}" if run.cause else str(run.state),
        "tags": list(note.tags),
        "stream": line.stream_tps,
        "output": line.output_tps,
        "typical": line.typical_tps,
        "peak": line.peak_tps,
        "printed": printed_cell(line),
        "tokens_per_step": line.tokens_per_step,
        "acceptance": line.acceptance_length,
        "workload": run.workload_names or "",
        "config": " · ".join(chips(as_started(run.config.model_dump(), run.told), engine_title(run))),
        "machine": machines.get(run.machine_id, ""),
        "when": _when(run).astimezone(UTC),
        "when_utc": _when(run).astimezone(UTC),
        "why": run.cause
        or why(line.reason)
        or run.note
        or {id(ELSEWHERE): READ_LATER, id(PENDING): WAITS}.get(id(line), ""),
    }


def _with_grey(rows: pd.DataFrame) -> pd.DataFrame | Styler:
    """What logs print as their speed is grey, as where it is drawn: nobody measured it.

    A table of which nothing is styled costs Streamlit a third.
    """
    if "printed" not in rows or not rows["printed"].notna().any():
        return rows
    return rows.style.set_properties(subset=["printed"], color=MUTED[ground()])


def printed_cell(line: RunLine) -> str | None:
    """'vllm.log: 101 tok/s, 11 lines': a text, so that a click on its head puts definitions together, not speeds."""
    if line.printed_tps is None:
        return None
    lines = f"{line.printed_lines:,} line{'s' * (line.printed_lines != 1)}"
    return f"{line.printed_definition}: {three_digits(line.printed_tps)} tok/s, {lines}"


def square(color: str) -> str:
    """The address of a small square with room around it, for the table draws an image as tall as its row."""
    return markup.svg_url(
        'viewBox="-6 -6 24 24" width="24" height="24"', f'<rect width="12" height="12" rx="2" fill="{color}"/>'
    )
