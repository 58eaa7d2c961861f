"""What came of a run's loads: a table a load, its grid, its latencies against its throughput, checks and accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.load_results import DEFINITION
from domain import Run
from load_records import CUT_SHORT, LENGTH_REASON, Accuracy, LoadPhase, Result
from storage.ask import load_queries
from storage.ask.load_queries import Outcome
from web import markup
from web.fleet import asked_about
from web.kept import fold
from web.markup import markdown_text
from web.moments import in_utc, moment
from web.runs.loads.check_grid import check_grids
from web.runs.loads.load_charts import distributions, grid_map, latency_against_throughput
from web.theme import DASH, duration
from web.words import reasons_in_words
from workloads import REGISTRY

TOOL = "pitwall"
CLIENT_LIMIT = 0.7  # of one core: from there on the client may be what was measured


class Column(NamedTuple):
    """A column of the table: which statistic of which metric, and how it is written."""

    title: str
    metric: str
    statistic: str
    form: str
    with_sd: bool = False


COLUMNS = (
    Column("Requests", "requests", "total", ".0f"),
    Column("Failed", "failed_requests", "total", ".0f"),
    Column("Output tok/s", "output_tps", "mean", ".1f", with_sd=True),
    Column("Sum of request rates", "sum_of_rates_tps", "mean", ".1f"),
    Column("Requests/s", "request_tps", "mean", ".2f"),
    Column("Good requests/s", "goodput_rps", "mean", ".2f"),
    Column("Prompt tok/s", "prompt_tps", "mean", ".0f", with_sd=True),
    Column("Decode tok/s", "decode_tps", "mean", ".1f", with_sd=True),
    Column("End-to-end tok/s", "e2e_tps", "mean", ".1f", with_sd=True),
    Column("Tokens", "completion_tokens", "mean", ".0f"),
    Column("Tokens per step", "tokens_per_step", "mean", ".2f"),
    Column("Accepted", "acceptance_rate", "mean", ".0%"),
    Column("Thinking", "thinking_ratio", "mean", ".0%"),
    Column("Looping", "looping_requests", "total", ".0f"),
    Column("Repeated text", "looped_ratio", "mean", ".0%"),
    Column("TTFT p50, ms", "ttft_ms", "median", ".0f"),
    Column("TTFT p95, ms", "ttft_ms", "p95", ".0f"),
    Column("TPOT p50, ms", "tpot_ms", "median", ".1f"),
    Column("TPOT p95, ms", "tpot_ms", "p95", ".1f"),
    Column("E2E p50, ms", "e2e_ms", "median", ".0f"),
    Column("E2E p95, ms", "e2e_ms", "p95", ".0f"),
    Column("E2E p99, ms", "e2e_ms", "p99", ".0f"),
)
KNOWN = {(column.metric, column.statistic) for column in COLUMNS}


def load_results(run: Run) -> None:
    """Every load of the run, the newest first and open."""
    store = asked_about([run])
    loads = [load for load in load_queries.loads(store, [run.id], with_pieces=False)[run.id] if load.asked]
    by_load = load_queries.outcomes(store, [run.id])[run.id]
    if not loads or not by_load:
        return
    st.subheader("Results of its loads" if len(loads) > 1 else "Results of its load")
    for place, load in enumerate(reversed(loads)):
        outcome = by_load.get(str(load.load_id), Outcome())
        with fold(title_of(load), f"load-{load.load_id}", "run", is_open=place == 0):
            st.caption(about(load), help=in_utc(asked=load.asked.ts if load.asked else None))
            _outcome(load, outcome)


def title_of(load: LoadRecord) -> str:
    """'Five prompts, 22 Nov 2026 10:14 CET'."""
    assert load.asked
    name = REGISTRY[load.asked.workload].title if load.asked.workload in REGISTRY else load.asked.workload
    by = " ".join(filter(None, [load.asked.tool, load.asked.tool_version]))
    tool = "" if load.asked.tool == TOOL else f" ({by})"
    return f"{markdown_text(name + tool)}, {moment(load.asked.ts)}"


def about(load: LoadRecord) -> str:
    """How it went: length, requests, whether it is whole, and whether the client itself was the limit."""
    phases = [phase for phase in load.phases if phase.kind == "measure"]
    words = [f"measured for {duration(sum(p.duration_s - p.paused_s for p in phases))}"] if phases else []
    words += [f"{len(load.measured)} requests measured"] if load.measured else []
    words += ["cut short: the tool was cancelled"] if load.asked and load.asked.params.get(CUT_SHORT) else []
    words += [f"{load.unsent} planned ones were not sent"] if load.unsent else []
    words += ["broken off: what was measured stands"] if any(not phase.is_complete for phase in phases) else []
    busiest = max((share for phase in phases if (share := client_share(phase)) is not None), default=None)
    if busiest is not None and busiest >= CLIENT_LIMIT:
        words.append(f"its own client used {busiest:.0%} of a core: it may have been the limit")
    most = max((phase.client_processes or 1 for phase in phases), default=1)
    words += [f"sent by {most} processes"] if most > 1 else []
    approximate = next((why for one in load.measured if (why := one.extra.get(LENGTH_REASON))), None)
    words += [markdown_text(reasons_in_words(approximate) or "")] if approximate else []
    words += [f"from the file {markdown_text(load.asked.source_name)}"] if load.asked and load.asked.source_name else []
    return ", ".join(words) or "its requests are not known"


def client_share(phase: LoadPhase) -> float | None:
    """CPU seconds a second that each process of the load generator used in a phase."""
    busy_s = (phase.duration_s - phase.paused_s) * (phase.client_processes or 1)
    return None if phase.client_cpu_s is None or busy_s <= 0 else phase.client_cpu_s / busy_s


def _outcome(load: LoadRecord, outcome: Outcome) -> None:
    for one in outcome.results:
        if one.metric == "users_held":
            users = "no user" if one.value is None else "1 user" if one.value == 1 else f"{one.value:.0f} users"
            st.markdown(f"**It holds {users}** ({markdown_text(reasons_in_words(one.reason) or '')}).")
    rows = [one for one in outcome.results if one.metric != "users_held"]
    if rows:
        head, cells = results_table(rows)
        st.html(markup.table(head, cells, is_numeric=True))
        other_rows([one for one in rows if (one.metric, one.statistic) not in KNOWN])
        grid_map(rows, str(load.load_id))
        latency_against_throughput(rows, str(load.load_id))
    distributions(load)
    check_grids(outcome.checks)
    if outcome.accuracy:
        _accuracy(outcome)


def results_table(rows: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Head and cells: a row a point, a column for every statistic that any of them has."""
    by_place = {(one.point, one.metric, one.statistic): one for one in rows}
    points = list(dict.fromkeys(one.point for one in rows))
    shown = [c for c in COLUMNS if any((point, c.metric, c.statistic) in by_place for point in points)]
    nothing_failed = all(not one.value for one in rows if one.metric == "failed_requests")
    shown = [c for c in shown if not (c.metric == "failed_requests" and nothing_failed)]
    cells = [
        [markup.text(point), *(_cell(by_place.get((point, c.metric, c.statistic)), c) for c in shown)]
        for point in points
    ]
    return ["", *(column.title for column in shown)], cells


def _cell(result: Result | None, column: Column) -> str:
    if result is None or result.value is None:
        return markup.number(DASH, why=reasons_in_words(result.reason) if result else None)
    words = format(result.value, column.form)
    if column.with_sd and result.sd is not None:
        words += f" ± {format(result.sd, column.form)}"
    return markup.number(words)


def other_rows(rows: Sequence[Result]) -> None:
    """Statistics that only other tools give, or that are shown beside the table's."""
    foreign = [one for one in rows if one.definition != DEFINITION]
    if not foreign:
        return
    with st.popover("All that the tool reported"):
        cells = [
            [
                markup.text(one.point),
                markup.text(f"{one.metric} {one.statistic}"),
                _value_cell(one),
                markup.text(one.unit),
            ]
            for one in foreign
        ]
        st.html(markup.table(["Point", "Metric", "Value", "Unit"], cells))


def _value_cell(one: Result | Accuracy, form: str = ".4g") -> str:
    if one.value is None:
        return markup.number(DASH, why=reasons_in_words(one.reason))
    return markup.text(format(one.value, form))


def _accuracy(outcome: Outcome) -> None:
    cells = [
        [
            markup.text(f"{one.task} ({one.filter})" if one.filter != "none" else one.task),
            markup.text(one.metric),
            _value_cell(one, ".1%"),
            DASH if one.low is None or one.high is None else markup.text(f"{one.low:.1%} to {one.high:.1%}"),
            markup.text(one.n if one.n is not None else DASH),
        ]
        for one in outcome.accuracy
    ]
    st.html(markup.table(["Task", "Metric", "Right", "95 % interval (Wilson)", "Items"], cells, is_numeric=True))
