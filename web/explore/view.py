"""One view of Explore: its query, the chart with what a click opens, and the runs that are not drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import streamlit as st

from analysis.chart_points import ChartMark, ChartPoint, mean_marks, single_marks
from analysis.metrics.registry import LIST_COLUMNS
from reports.arms.facts import processes_of
from reports.arms.run_arms import run_arms
from reports.runs.run_line import line_version
from storage.queries.explore_queries import ARM, LINE, METRICS, STARTED, Metric, explore_sql, read_view
from storage.queries.run_fields import NOT_STATED
from storage.queries.run_queries import RunFilter, cached_lines, runs_of
from web import markup, page_paths
from web.charts import still_chart
from web.context import services
from web.explore.controls import HEAT, SCATTER, ExploreSelection
from web.explore.facets import MOST_FACETS, Panel, panels, runs_in
from web.explore.figures import explore_figure
from web.explore.heat_map import heat_map
from web.machines.machine_titles import machine_titles
from web.redirects import go_to
from web.runs.table.field_words import field_value_text
from web.times import in_viewer_zone
from web.words import reason_text

Row = Mapping[str, Any]
MAX_NAMED, MAX_COMPARED = 12, 8
ABOUT_MEANS = (
    "Each mark is the geometric mean of server starts with its 95 % interval by Student's t; a single start has no "
    "interval. Nothing is ranked here: Compare checks whether two arms are comparable."
)
ABOUT_CELLS = " A click on a cell opens its run, or lists its runs if there are several."
NOT_COMPUTED = "its numbers are not computed yet"
ARMS_NOTE = " SQL has no arms, so the query uses the name of each run instead."


def show_view(
    run_filter: RunFilter, run_ids: Sequence[str] | None, selection: ExploreSelection, results: Mapping[str, Metric]
) -> None:
    """Show the chart with its notes. run_ids: those that match the filter; None if there are too many."""
    store, metrics = services().store, {**METRICS, **results}
    rows = read_view(store, explore_sql(run_filter, selection.view, metrics, by_ids=run_ids is not None), run_ids)
    if not rows:
        st.info("No runs match.")
        return
    drawable = [row for row in rows if row["x"] is not None and row["y"] is not None]
    marks = _marks(drawable, selection) if drawable else []
    charts, undrawn_panels = panels(marks) if selection.view.facet else ([("", marks)], [])
    if drawable:
        _chart(marks, selection)
    else:
        st.info("Nothing to draw: none of these runs has both numbers.")
    if undrawn_panels:
        st.caption(markup.markdown_text(_undrawn_panels_text(undrawn_panels, selection)))
    _show_not_drawn(rows, runs_in(undrawn_panels) - runs_in(charts), selection)
    _show_sql(explore_sql(run_filter, selection.view, metrics), rows, selection)


def _chart(marks: Sequence[ChartMark], selection: ExploreSelection) -> None:
    title = f"{selection.titles[selection.view.y]} by {selection.titles[selection.view.x]}"
    if selection.kind == HEAT:
        heat_map(marks, selection, title)
    elif pressed := still_chart(explore_figure(marks, selection), title, f"explore-{selection.kind}", opens=True):
        _open(pressed)


def _undrawn_panels_text(left_out: Sequence[Panel], selection: ExploreSelection) -> str:
    """Say which facet values have no chart and are not drawn."""
    runs = runs_in(left_out)
    names = [facet for facet, _ in left_out[:MAX_NAMED]]
    and_more = f" and {len(left_out) - MAX_NAMED:,} more" if len(left_out) > MAX_NAMED else ""
    mark_noun = "cells" if selection.kind == HEAT else "points"
    return (
        f"{MOST_FACETS} small charts are drawn, for the values with the most {mark_noun}. Left out: {len(runs):,} "
        f"run{'s' * (len(runs) != 1)} with {selection.titles[selection.view.facet]} {', '.join(names)}{and_more}."
    )


def _open(run_ids: Sequence[str]) -> None:
    """Open one run on its page, several on Compare."""
    go_to(markup.run_link("run" if len(run_ids) == 1 else "compare", run_ids[:MAX_COMPARED]))


def _marks(rows: Sequence[Row], selection: ExploreSelection) -> list[ChartMark]:
    store = services().store
    runs = runs_of(store, list(dict.fromkeys(row["run_id"] for row in rows)))
    needs_arms = selection.by_arm or _names_arm(selection)
    arms = {run.run_id: arm for arm in (run_arms(store, runs) if needs_arms else ()) for run in arm.runs}
    titles = machine_titles(store)
    points = [_point(row, selection, {run_id: arm.name for run_id, arm in arms.items()}, titles) for row in rows]
    if not selection.is_mean:
        return single_marks(points)
    processes = processes_of(store, runs)
    if selection.kind != SCATTER:
        return mean_marks(
            points, lambda point: (str(point.x), point.color), lambda point: point.color, processes, False
        )
    averages = all(isinstance(row["x"], int | float) for row in rows)
    load_point = {id(point): row["point"] for point, row in zip(points, rows, strict=True)}

    def key(point: ChartPoint) -> tuple[object, ...]:
        return arms[point.run_id].key, point.color, load_point[id(point)], None if averages else str(point.x)

    return mean_marks(points, key, lambda point: arms[point.run_id].name, processes, averages)


def _point(row: Row, selection: ExploreSelection, arms: Mapping[str, str], machines: Mapping[str, str]) -> ChartPoint:
    """Return the row as a point, with arms, times and codes replaced by their display values."""

    def display_value(name: str, value: Any) -> Any:
        if name == ARM:
            return arms[row["run_id"]]
        if name == STARTED:
            return in_viewer_zone(value)
        return field_value_text(name, value, machines) if isinstance(value, str) else value

    def group(axis: str) -> str:
        name = getattr(selection.view, axis)
        value = display_value(name, row[axis]) if name else ""
        return str(NOT_STATED if value is None else value)

    x = display_value(selection.view.x, row["x"])
    return ChartPoint(row["run_id"], row["name"], x, float(row["y"]), group("color"), group("facet"))


def _show_not_drawn(rows: Sequence[Row], undrawn_ids: Set[str], selection: ExploreSelection) -> None:
    """List the runs that are not drawn and why; unknown is never zero. undrawn_ids: runs of undrawn facets."""
    names = {row["run_id"]: row["name"] for row in rows}
    drawn_ids = {row["run_id"] for row in rows if row["x"] is not None and row["y"] is not None}
    left_out = [run_id for run_id in names if run_id not in drawn_ids]
    chart_note = f" {ABOUT_MEANS}" if selection.is_mean else " A click on a point opens its run."
    chart_note += ABOUT_CELLS if selection.kind == HEAT else ""
    drawn_count = f"{len(drawn_ids - undrawn_ids):,} of {rows[0]['of_runs']:,} runs are drawn."
    st.caption(markup.markdown_text(f"{drawn_count}{_truncation_note(rows)}{chart_note}"))
    if left_out:
        missing = _missing_values(rows, drawn_ids, selection)
        st.html(_undrawn_fold(left_out, missing, _undrawn_links(left_out, names, selection)))


def _truncation_note(rows: Sequence[Row]) -> str:
    """Say that only the newest points were queried; '' if all were."""
    total = rows[0]["of_points"]
    if total <= len(rows):
        return ""
    return f" There are too many points: only the newest {len(rows):,} of {total:,} are shown."


def _missing_values(rows: Sequence[Row], drawn_ids: set[str], selection: ExploreSelection) -> str:
    """'Stream, tok/s of 2 runs; Draft length k of 1 run' for the runs that are not drawn."""
    parts = []
    for axis in ("y", "x"):
        ids = {row["run_id"] for row in rows if row[axis] is None} - drawn_ids
        parts += (
            [f"{selection.titles[getattr(selection.view, axis)]} of {len(ids):,} run{'s' * (len(ids) != 1)}"]
            if ids
            else []
        )
    return "; ".join(parts)


def _undrawn_fold(run_ids: Sequence[str], missing: str, links_html: str) -> str:
    """Fold the runs that are not drawn behind their number."""
    summary = f"{len(run_ids):,} run{'s' * (len(run_ids) != 1)} not drawn"
    return (
        f'<details class="pw-unknown"><summary>{summary}</summary>'
        f"<p>Not known: {markup.text(missing)}.</p>{links_html}</details>"
    )


def _undrawn_links(run_ids: Sequence[str], names: Mapping[str, str], selection: ExploreSelection) -> str:
    """Links to the runs that are not drawn, as markup; each gives the reason on hover if it is known."""
    listed_ids = run_ids[:MAX_NAMED]
    lines = cached_lines(services().store, listed_ids, line_version()) if _uses_run_lines(selection) else {}
    default_reason = NOT_COMPUTED if _uses_run_lines(selection) else ""
    axes = (LIST_COLUMNS.get(name) for name in (selection.view.x, selection.view.y))
    has_speed_axis = any(
        metric and metric.column and metric.column.is_proposed for metric in axes
    )  # `reason` is about these
    known_reasons = {run_id: reason_text(line.reason) or "" if has_speed_axis else "" for run_id, line in lines.items()}
    reasons = {run_id: known_reasons.get(run_id, default_reason) for run_id in listed_ids}
    links = [
        f'<a href="{markup.run_link("run", [run_id])}" target="_self" title="{markup.text(reasons[run_id])}">'
        f"{markup.text(names[run_id])}</a>"
        for run_id in listed_ids
    ]
    and_more = f" and {len(run_ids) - MAX_NAMED:,} more" if len(run_ids) > MAX_NAMED else ""
    waiting_count = sum(reason == NOT_COMPUTED for reason in reasons.values())
    later_note = (
        f" The numbers of {waiting_count:,} of these are not computed yet; check again in a minute."
        if waiting_count
        else ""
    )
    return f'<p class="pw-links">{", ".join(links)}{and_more}.{later_note}</p>'


def _uses_run_lines(selection: ExploreSelection) -> bool:
    return any(name in METRICS and METRICS[name].source == LINE for name in (selection.view.x, selection.view.y))


def _names_arm(selection: ExploreSelection) -> bool:
    return ARM in (selection.view.x, selection.view.color, selection.view.facet)


def _show_sql(sql: str, rows: Sequence[Row], selection: ExploreSelection) -> None:
    with st.popover("Show the SQL", icon=":material/code:"):
        st.code(sql, language="sql", wrap_lines=True)
        note = ARMS_NOTE if selection.by_arm or _names_arm(selection) else ""
        st.caption(f"{len(rows):,} rows, one per run or load point.{note}")
        st.page_link(page_paths.SQL, label="Open on the SQL page", query_params={"sql": sql})
