"""One view of Explore: what is asked, what of it can be drawn, the chart, and what a click on it opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import streamlit as st

from analysis.marks import Mark, Point, single, together
from reports.arms.facts import processes_of
from reports.arms.run_arms import run_arms
from reports.formulas import formulas
from storage.ask.explore_queries import ARM, LINE, METRICS, STARTED, Metric, ask_view, explore_sql
from storage.ask.run_fields import NOT_STATED
from storage.ask.run_queries import NUMBERS, RunFilter, kept_lines, runs_of
from web import markup, places
from web.charts import still_chart
from web.context import services
from web.explore.choices import HEAT, SCATTER, Chosen
from web.explore.facets import MOST_FACETS, Panel, panels, runs_in
from web.explore.figures import figure_of
from web.explore.heat_map import heat_map
from web.kept import go_to
from web.machines.machine_titles import machine_titles
from web.moments import there
from web.runs.table.field_words import field_words
from web.words import why

Row = Mapping[str, Any]
MOST_NAMED, MOST_COMPARED = 12, 8
ABOUT_MEANS = (
    "Each mark is the geometric mean of server starts with its 95 % interval by Student's t; one start has no "
    "interval. Nothing is ranked here: Compare asks whether two arms may be held against each other."
)
ABOUT_CELLS = " A click on a cell opens its run, or lists the runs where it has several."
WAITS = "its numbers are not computed yet"
OF_ARMS = " SQL knows no arms: the question has the name of each run in their place."


def show_view(wanted: RunFilter, run_ids: Sequence[str] | None, chosen: Chosen, results: Mapping[str, Metric]) -> None:
    """The chart with everything that is to be said of it; `run_ids` are those found, None where they are too many."""
    store, metrics = services().store, {**METRICS, **results}
    rows = ask_view(store, explore_sql(wanted, chosen.view, metrics, of_ids=run_ids is not None), run_ids)
    if not rows:
        st.info("No run is like that.")
        return
    known = [row for row in rows if row["x"] is not None and row["y"] is not None]
    marks = _marks(known, chosen) if known else []
    charts, beyond = panels(marks) if chosen.view.facet else ([("", marks)], [])
    if known:
        _chart(marks, chosen)
    else:
        st.info("Nothing can be drawn: no run of these has both numbers.")
    if beyond:
        st.caption(markup.markdown_text(_beyond(beyond, chosen)))
    _show_not_drawn(rows, runs_in(beyond) - runs_in(charts), chosen)
    _show_sql(explore_sql(wanted, chosen.view, metrics), rows, chosen)


def _chart(marks: Sequence[Mark], chosen: Chosen) -> None:
    words = f"{chosen.titles[chosen.view.y]} by {chosen.titles[chosen.view.x]}"
    if chosen.kind == HEAT:
        heat_map(marks, chosen, words)
    elif pressed := still_chart(figure_of(marks, chosen), words, f"explore-{chosen.kind}", opens=True):
        _open(pressed)


def _beyond(left_out: Sequence[Panel], chosen: Chosen) -> str:
    """What has no small chart of its own, and so is not drawn."""
    runs = runs_in(left_out)
    named = [facet for facet, _ in left_out[:MOST_NAMED]]
    more = f" and {len(left_out) - MOST_NAMED:,} more" if len(left_out) > MOST_NAMED else ""
    most = "cells" if chosen.kind == HEAT else "points"
    return (
        f"{MOST_FACETS} small charts are drawn, of the values with most {most}. Left out: {len(runs):,} "
        f"run{'s' * (len(runs) != 1)} with {chosen.titles[chosen.view.facet]} {', '.join(named)}{more}."
    )


def _open(run_ids: Sequence[str]) -> None:
    """A run on its page, several beside each other."""
    go_to(markup.run_link("run" if len(run_ids) == 1 else "compare", run_ids[:MOST_COMPARED]))


def _marks(rows: Sequence[Row], chosen: Chosen) -> list[Mark]:
    store = services().store
    runs = runs_of(store, list(dict.fromkeys(row["run_id"] for row in rows)))
    needs_arms = chosen.by_arm or _names_arm(chosen)
    arms = {run.run_id: arm for arm in (run_arms(store, runs) if needs_arms else ()) for run in arm.runs}
    titles = machine_titles(store)
    points = [_point(row, chosen, {one: arm.name for one, arm in arms.items()}, titles) for row in rows]
    if not chosen.is_mean:
        return single(points)
    processes = processes_of(store, runs)
    if chosen.kind != SCATTER:
        return together(points, lambda one: (str(one.x), one.color), lambda one: one.color, processes, False)
    averages = all(isinstance(row["x"], int | float) for row in rows)
    at = {id(point): row["point"] for point, row in zip(points, rows, strict=True)}

    def key(point: Point) -> tuple[object, ...]:
        return arms[point.run_id].key, point.color, at[id(point)], None if averages else str(point.x)

    return together(points, key, lambda one: arms[one.run_id].name, processes, averages)


def _point(row: Row, chosen: Chosen, arms: Mapping[str, str], machines: Mapping[str, str]) -> Point:
    """With the arm, and the words of codes and ids, in the place of what SQL says of them."""

    def said(name: str, value: Any) -> Any:
        if name == ARM:
            return arms[row["run_id"]]
        if name == STARTED:
            return there(value)
        return field_words(name, value, machines) if isinstance(value, str) else value

    def group(axis: str) -> str:
        name = getattr(chosen.view, axis)
        value = said(name, row[axis]) if name else ""
        return str(NOT_STATED if value is None else value)

    x = said(chosen.view.x, row["x"])
    return Point(row["run_id"], row["name"], x, float(row["y"]), group("color"), group("facet"))


def _show_not_drawn(rows: Sequence[Row], beyond: Set[str], chosen: Chosen) -> None:
    """How many of the runs are not drawn, which and of what: nothing unknown is a zero. `beyond`: for want of room."""
    names = {row["run_id"]: row["name"] for row in rows}
    drawn = {row["run_id"] for row in rows if row["x"] is not None and row["y"] is not None}
    left_out = [run_id for run_id in names if run_id not in drawn]
    means = f" {ABOUT_MEANS}" if chosen.is_mean else " A click on a point opens its run."
    means += ABOUT_CELLS if chosen.kind == HEAT else ""
    why_not = f" Not known, so not drawn: {_lacking(rows, drawn, chosen)}." if left_out else ""
    of_runs = f"{len(drawn - beyond):,} of {rows[0]['of_runs']:,} runs are drawn."
    st.caption(markup.markdown_text(f"{of_runs}{_cut(rows)}{why_not}{means}"))
    if left_out:
        st.html(_names(left_out, names, chosen))


def _cut(rows: Sequence[Row]) -> str:
    """What of too many points was not asked for; empty where all were."""
    of = rows[0]["of_points"]
    if of <= len(rows):
        return ""
    return f" Too many points: the newest {len(rows):,} of {of:,} are asked for, without the oldest."


def _lacking(rows: Sequence[Row], drawn: set[str], chosen: Chosen) -> str:
    """'Stream, tok/s of 2 runs; Draft length k of 1 run', of those that are not drawn."""
    words = []
    for axis in ("y", "x"):
        ids = {row["run_id"] for row in rows if row[axis] is None} - drawn
        words += (
            [f"{chosen.titles[getattr(chosen.view, axis)]} of {len(ids):,} run{'s' * (len(ids) != 1)}"] if ids else []
        )
    return "; ".join(words)


def _names(run_ids: Sequence[str], names: Mapping[str, str], chosen: Chosen) -> str:
    """Links to the runs that are not drawn, as markup; each says why, as far as the list of runs knows it."""
    shown = run_ids[:MOST_NAMED]
    lines = kept_lines(services().store, shown, formulas()) if _is_of_lines(chosen) else {}
    waits = WAITS if _is_of_lines(chosen) else ""
    of_speeds = any(one in NUMBERS for one in (chosen.view.x, chosen.view.y))
    known = {run_id: why(line.reason) or "" if of_speeds else "" for run_id, line in lines.items()}
    reasons = {run_id: known.get(run_id, waits) for run_id in shown}
    links = [
        f'<a href="{markup.run_link("run", [one])}" target="_self" title="{markup.text(reasons[one])}">'
        f"{markup.text(names[one])}</a>"
        for one in shown
    ]
    more = f" and {len(run_ids) - MOST_NAMED:,} more" if len(run_ids) > MOST_NAMED else ""
    waiting = sum(words == WAITS for words in reasons.values())
    later = f" The numbers of {waiting:,} of these are not computed yet; look again in a minute." if waiting else ""
    return f'<p class="pw-unknown pw-links">Not drawn: {", ".join(links)}{more}.{later}</p>'


def _is_of_lines(chosen: Chosen) -> bool:
    return any(one in METRICS and METRICS[one].source == LINE for one in (chosen.view.x, chosen.view.y))


def _names_arm(chosen: Chosen) -> bool:
    return ARM in (chosen.view.x, chosen.view.color, chosen.view.facet)


def _show_sql(sql: str, rows: Sequence[Row], chosen: Chosen) -> None:
    with st.popover("Show the SQL", icon=":material/code:"):
        st.code(sql, language="sql", wrap_lines=True)
        note = OF_ARMS if chosen.by_arm or _names_arm(chosen) else ""
        st.caption(f"{len(rows):,} rows, a row a run or a point of its loads.{note}")
        st.page_link(places.SQL, label="Open on the SQL page", query_params={"sql": sql})
