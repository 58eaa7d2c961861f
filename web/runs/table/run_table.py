"""The table of ended runs, in which they are ticked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import partial

import pandas as pd
import pyarrow as pa
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.elements.lib.column_types import ColumnConfig

from analysis.comparison.model_names import weights_name
from analysis.metrics.registry import BY_KEY, LIST_COLUMNS
from analysis.runs.printed_speed import PrintedSpeed
from analysis.runs.run_line import RunLine, ToolStatement
from domain import Run
from notes import RunNote
from reports.runs.run_line import PENDING
from storage.caches.query_cache import SameObject
from storage.queries.run_queries import RunChoices
from web import markup
from web.charts import ground, is_phone
from web.context import services
from web.loop_words import MEANING, loop_text
from web.run_chips import chips_of
from web.runs.table.head_order import follow_heads, head_arrow, head_presses
from web.runs.table.run_listing import PENDING_NOTE, notes_on
from web.runs.table.ticked_runs import follow_ticks, table_key, ticks_on_arrival
from web.theme import DASH, MUTED, Ground, run_color, three_digits
from web.times import TABLE_FORMAT, time_column
from web.url_state import choose_some, multiple_choice, open_popover
from web.words import reason_text

OTHER_MACHINE_LINE = RunLine()
READ_LATER = "from another machine: its numbers are read when it is opened or compared"
ROW_PX, HEAD_PX, LEAST_ROWS = 31, 36, 3
WHEN_PX, EXACT_WHEN_PX = 116, 172
CONFIG_PX, STATE_PX, WORKLOAD_PX = 230, 90, 110
KEYS = (
    "Click a name to open its run. Click a column title to sort all runs by it if *Sort by* offers that, unknown "
    "values last; click again to reverse. In the table, arrows move, Enter opens a row's run and Space ticks it."
)
PIN = "pin"  # URL parameter: pinned columns
NAME_PX, NAME_ON_PHONE_PX = 290, 150  # the column is pinned, so it is narrower on a phone


def _name_column(width_px: int) -> ColumnConfig:
    """The column of names, each a link to the run's page."""
    return st.column_config.LinkColumn("Run", display_text=r"#(.+)$", width=width_px, pinned=True)


def _number_column(name: str) -> ColumnConfig:
    metric = LIST_COLUMNS[name]
    assert metric.column
    form, width = f"%.{metric.column.digits}f", metric.column.width_px
    return st.column_config.NumberColumn(metric.title_with_unit, format=form, width=width, help=metric.definition)


def _other_numbers(is_proposed: bool) -> dict[str, ColumnConfig]:
    """The columns of the metrics that do not lead: those that Runs proposes, or the others."""
    return {
        name: _number_column(name)
        for name, metric in LIST_COLUMNS.items()
        if name not in LEADING_NUMBERS and metric.column and metric.column.is_proposed is is_proposed
    }


LEADING_NUMBERS = ("stream", "output", "tokens_per_step", "acceptance")
COLUMNS = {
    "color": st.column_config.ImageColumn("", width=30, pinned=True),
    "name": _name_column(NAME_PX),
    "star": st.column_config.TextColumn("\u2605", width=24, help="Starred"),
    "config": st.column_config.TextColumn("Configuration", width=CONFIG_PX),
    **{name: _number_column(name) for name in LEADING_NUMBERS},
    "state": st.column_config.TextColumn("State", width=STATE_PX),
    "when": st.column_config.DatetimeColumn(
        "Started",
        format="distance",
        width=WHEN_PX,
        help="How long ago; *Columns* has the exact time in your time zone and in UTC",
    ),
    "loops": st.column_config.TextColumn("Looping text", width=160, help=MEANING),
    "printed": st.column_config.TextColumn(
        BY_KEY["printed_tps"].title,
        width=190,
        help="If no speed was measured: the median of what its log lines print while the server generates. It is not a "
        "decode speed; what it counts, and over which interval, differs by engine (see the run)",
    ),
    "stated": st.column_config.TextColumn(
        "Stated by its tool",
        width=230,
        help="The speed that another tool or a document states, by its own definition and with all its digits; runs "
        "are not sorted by it",
    ),
    "when_exact": st.column_config.Column("Started at"),  # in the viewer's time zone: _column_config
    "when_utc": st.column_config.DatetimeColumn(
        "Started (UTC)", format=TABLE_FORMAT, timezone="UTC", width=EXACT_WHEN_PX
    ),
    **_other_numbers(is_proposed=True),
    "workload": st.column_config.TextColumn("Workload", width=WORKLOAD_PX),
    "tags": st.column_config.ListColumn("Tags", width=120),
    "machine": st.column_config.TextColumn("Machine", width=110),
    "why": st.column_config.TextColumn("Missing numbers, or how it ended", width="large"),
    **_other_numbers(is_proposed=False),
}
FIXED_COLUMNS = ("color", "name")
OPTIONAL_COLUMNS = [name for name in COLUMNS if name not in FIXED_COLUMNS]


def choose_columns(choices: RunChoices) -> list[str]:
    """Return the columns in the selected order, kept in the URL; empty columns are not proposed."""
    default = proposed_columns(choices)
    titles = {name: str(COLUMNS[name]["label"]) for name in OPTIONAL_COLUMNS}
    if popover := open_popover("Columns", "runs-columns", ":material/view_column:"):
        with popover:
            st.caption(
                "Columns appear in the order of selection, after the run's name. By default, numbers that none of the "
                "listed runs has are hidden."
            )
            selected = choose_some("Columns", "column", "runs", titles, "as proposed", default)
            choose_some("Pinned beside the name", PIN, "runs", titles, "none")
    else:
        selected = multiple_choice("column", "runs-column", list(titles), default).current_value()
    pinned = _pinned()
    return [*pinned, *(name for name in selected or default if name not in pinned)]


def _pinned() -> list[str]:
    """The columns pinned beside the name while the others scroll sideways."""
    return [name for name in st.query_params.get_all(PIN) if name in OPTIONAL_COLUMNS]


def shown_columns(columns: Sequence[str], choices: RunChoices, lines: Mapping[str, RunLine]) -> list[str]:
    """Return the columns without numbers that none of the runs has; a user's own selection is unchanged."""
    pinned = _pinned()
    if [column for column in columns if column not in pinned] != [
        column for column in proposed_columns(choices) if column not in pinned
    ]:
        return list(columns)
    empty = {name for name, metric in LIST_COLUMNS.items() if all(line[metric.key] is None for line in lines.values())}
    empty |= {"loops"} if not any(loop_text(line["looping_ratio"]) for line in lines.values()) else set()
    empty |= {"printed"} if all(line.printed is None for line in lines.values()) else set()
    empty |= {"stated"} if all(line.stated is None for line in lines.values()) else set()
    return [name for name in columns if name not in empty or name in pinned]


def proposed_columns(choices: RunChoices) -> list[str]:
    """Return the columns that are informative for these runs; exact start times only on request.

    On a phone the numbers come before the configuration, so that the first is in sight.
    """
    is_proposed = {name: bool(metric.column and metric.column.is_proposed) for name, metric in LIST_COLUMNS.items()}
    is_proposed |= {
        "when_exact": False,
        "when_utc": False,
        "tags": bool(choices.tags),
        "machine": len(choices.machines) > 1,
    }
    columns = [name for name in OPTIONAL_COLUMNS if is_proposed.get(name, True)]
    return sorted(columns, key=lambda name: name in ("star", "config")) if is_phone() else columns


def run_table(
    runs: Sequence[Run],
    lines: Mapping[str, RunLine],
    columns: Sequence[str],
    machines: Mapping[str, str],
    caption: str,
    group: str = "",
    *,
    has_order: bool = True,
) -> None:
    """Show the runs, and how many they are.

    caption: says how many runs these are. group: the group's key, since two groups may have the same runs. has_order:
    whether a press on a head sorts all runs, unknown values last (Streamlit's own sorting puts them first).
    """
    shown_columns = [*FIXED_COLUMNS, *columns]
    rows_key, presses = _rows_key(runs, group), head_presses()
    key = table_key(f"ended-runs-{rows_key}-{presses}", runs)
    # As tall as its rows, but no taller than the window (pitwall.css).
    with st.container(height=HEAD_PX + ROW_PX * max(len(runs), LEAST_ROWS), border=False, key=f"run-rows-{rows_key}"):
        st.dataframe(
            _shared_rows(runs, lines, shown_columns, machines),
            hide_index=True,
            column_config=_column_config(runs, has_order, shown_columns),
            column_order=shown_columns,
            on_select=partial(_follow, key, presses, [run.id for run in runs]),
            selection_mode=["multi-row", "single-column"] if has_order else "multi-row",
            selection_default={"selection": {"rows": ticks_on_arrival(key, runs)}},
            key=key,
            placeholder=DASH,
            height="stretch",
            alt="Runs that have ended",
        )
    st.caption(caption, help=KEYS)


def _follow(key: str, presses: int, run_ids: Sequence[str]) -> None:
    """Take over what was ticked, and the order of the head that was pressed."""
    follow_ticks(key, run_ids)
    follow_heads(key, presses)


def _column_config(runs: Sequence[Run], has_order: bool, shown: Sequence[str]) -> dict[str, ColumnConfig]:
    """These of COLUMNS for this viewer: in their time zone, with narrower names on a phone, and the order's arrow."""
    columns = {name: COLUMNS[name] for name in shown}
    if "when_exact" in columns:
        columns["when_exact"] = time_column("Started at", [run.began_at for run in runs], EXACT_WHEN_PX)
    if is_phone():
        columns["name"] = _name_column(NAME_ON_PHONE_PX)
    arrows = {name: head_arrow(name) if has_order else "" for name in columns}
    columns |= {
        name: ColumnConfig(**{**columns[name], "label": f"{columns[name]['label']}{arrow}"})
        for name, arrow in arrows.items()
        if arrow
    }
    return columns | {name: ColumnConfig(**{**columns[name], "pinned": True}) for name in _pinned() if name in columns}


def _rows_key(runs: Sequence[Run], group: str) -> str:
    """A key that changes with the rows: a selection is by row number and must not move to other runs."""
    return hashlib.sha256(" ".join([group, *(run.id for run in runs)]).encode()).hexdigest()[:12]


def _shared_rows(
    runs: Sequence[Run], lines: Mapping[str, RunLine], shown: Sequence[str], machines: Mapping[str, str]
) -> pa.Table | Styler:
    """The cells of these runs, made once for all viewers whose table is the same."""
    notes, theme = notes_on(runs), ground()
    sources = SameObject(lines), SameObject(notes), tuple(run.id for run in runs), tuple(machines.items())
    key = ("rows", *sources, tuple(shown), theme)
    rows: pa.Table | Styler = services().store.query_cache.get(
        key, lambda: _rows(runs, lines, notes, shown, machines, theme)
    )
    return rows


def _rows(
    runs: Sequence[Run],
    lines: Mapping[str, RunLine],
    notes: Mapping[str, RunNote],
    shown: Sequence[str],
    machines: Mapping[str, str],
    theme: Ground,
) -> pa.Table | Styler:
    chips = chips_of(runs)
    cells = [
        _row(run, lines.get(run.id, OTHER_MACHINE_LINE), notes[run.id], machines, chips[run.id], theme) for run in runs
    ]
    rows = pd.DataFrame({name: [row[name] for row in cells] for name in shown})
    is_styled = bool(_foreign_texts(rows) or _imported_rows(runs))  # for nothing, Streamlit would send texts, too
    return _translated(_with_muted_foreign_numbers(rows, runs, theme)) if is_styled else pa.Table.from_pandas(rows)


def _row(
    run: Run, line: RunLine, note: RunNote, machines: Mapping[str, str], chips: Sequence[str], theme: Ground
) -> dict[str, object]:
    return {
        "color": square(run_color(run.color, theme)),
        "name": name_link(run),
        "star": "\u2605" if note.is_starred else "",
        "state": f"\u2717 {run.shown_state}" if run.cause else run.shown_state,
        "tags": list(note.tags),
        "loops": loop_text(line["looping_ratio"]),
        "printed": printed_cell(line.printed),
        "stated": stated_cell(line.stated),
        **{name: line[metric.key] for name, metric in LIST_COLUMNS.items()},
        "workload": run.workload_names or "",
        "config": " · ".join(_model_last(run, chips)),
        "machine": machines.get(run.machine_id, ""),
        "when": run.began_at.astimezone(UTC),
        "when_exact": run.began_at.astimezone(UTC),
        "when_utc": run.began_at.astimezone(UTC),
        "why": run.cause
        or reason_text(line.reason)
        or run.note
        or {id(OTHER_MACHINE_LINE): READ_LATER, id(PENDING): PENDING_NOTE}.get(id(line), ""),
    }


def _model_last(run: Run, chips: Sequence[str]) -> list[str]:
    """The labels with the model at the end, where the column cuts: mostly the run's name has it, too."""
    model = weights_name(run.config.model) if run.config.model else None
    return sorted(chips, key=lambda label: label == model)


def name_link(run: Run) -> str:
    """Return the address of the run's page, with the name that the table shows; the browser decodes '+' and '%'."""
    return markup.named_run_link(run.id, run.name)


def _with_muted_foreign_numbers(rows: pd.DataFrame, runs: Sequence[Run], theme: Ground) -> Styler:
    """Grey out speeds that Pitwall did not measure: printed by logs, stated by tools, or of imported requests."""
    texts, imported = _foreign_texts(rows), _imported_rows(runs)
    styled = rows.style.set_properties(subset=texts, color=MUTED[theme]) if texts else rows.style
    numbers = [name for name in LIST_COLUMNS if name in rows]
    return styled.set_properties(subset=(imported, numbers), color=MUTED[theme]) if imported else styled


def _translated(styler: Styler) -> Styler:
    """Return it with its styles translated to CSS once, for the threads of all viewers.

    Streamlit translates the styles of a table at each viewing by these two methods of pandas, which takes longer than
    the rest of the page. `body` would hold formatted texts, which it sets cell by cell; the columns have formats.
    """
    styler.set_uuid("runs")  # or Streamlit sets it
    styles = styler._compute()._translate(False, False) | {"body": []}
    styler._compute = lambda: styler
    styler._translate = lambda *_: styles
    return styler


def _foreign_texts(rows: pd.DataFrame) -> list[str]:
    return [name for name in ("printed", "stated") if name in rows and rows[name].notna().any()]


def _imported_rows(runs: Sequence[Run]) -> list[int]:
    return [row for row, run in enumerate(runs) if run.kind == "imported"]


def stated_cell(stated: ToolStatement | None) -> str | None:
    """'guidellm 0.7.1: output_tps, mean, 187.3 tok/s': a text, so that sorting does not rank definitions."""
    if stated is None:
        return None
    return f"{stated.definition}: {stated.metric}, {stated.statistic}, {stated.value:.10g} {stated.unit}"


def printed_cell(printed: PrintedSpeed | None) -> str | None:
    """'vllm.log: 101 tok/s, 11 lines': a text, so that sorting groups definitions instead of ranking speeds."""
    if printed is None:
        return None
    lines = f"{printed.lines:,} line{'s' * (printed.lines != 1)}"
    return f"{printed.definition}: {three_digits(printed.median_tps)} tok/s, {lines}"


def square(color: str) -> str:
    """The address of a small square with room around it, since the table draws an image as tall as its row."""
    return markup.svg_url(
        'viewBox="-6 -6 24 24" width="24" height="24"', f'<rect width="12" height="12" rx="2" fill="{color}"/>'
    )
