"""The results of a run's loads: for each a table, its charts, checks and accuracy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.agent_tasks import METRIC as SOLVED
from analysis.loads.load_results import DEFINITION, POOLED, STATISTICS, results_of
from domain import Run
from load_records import AGENT_TASK, CUT_SHORT, DRIVER_OPTIONS, LENGTH_REASON, Accuracy, LoadPhase, Result
from storage.queries import load_queries
from storage.queries.load_queries import LoadOutcome
from web import markup
from web.fleet import store_for_runs
from web.loads.panels.check_grid import show_check_grids
from web.loads.panels.endurance_section import show_endurance
from web.loads.panels.fidelity_section import show_fidelity
from web.loads.panels.load_charts import (
    show_distributions,
    show_grid_map,
    show_latency_against_throughput,
)
from web.loads.panels.task_section import offer_deletion, show_agent_task
from web.markup import markdown_text
from web.theme import DASH, duration, three_digits
from web.times import format_time, utc_help
from web.url_state import url_expander
from web.words import reasons_text
from workloads import REGISTRY
from workloads.agent_tasks.task_params import task_title

TOOL = "pitwall"
OWN_PLACES = ("users_held", SOLVED)  # metrics that are shown apart from the table
CLIENT_LIMIT = 0.7  # of one core: above it the client may be the bottleneck


class Column(NamedTuple):
    """A column of the table: the metric, its statistic in Pitwall's loads, and its format.

    decimals: the fewest that are shown; a small value has as many as three significant digits need. None: a count.
    is_own: other tools report no such number.
    """

    title: str
    metric: str
    statistic: str
    decimals: int | None
    with_sd: bool = False
    is_own: bool = False
    is_percent: bool = False

    def text(self, value: float, sd: float | None = None) -> str:
        """Return the value, with its standard deviation if the column shows one: '1,234', '187.3 ± 0.4', '12.5 %'."""
        if self.is_percent:
            return f"{three_digits(100.0 * value)} %"
        decimals = 0 if self.decimals is None else max(self.decimals, _decimals_of_three_digits(value))
        spread = f" ± {sd:,.{decimals}f}" if self.with_sd and sd is not None else ""
        return f"{value:,.{decimals}f}{spread}"

    def result(self, by_cell: Mapping[tuple[str, str, str], Result], point: str, is_own_load: bool) -> Result | None:
        """Return the result that the cell of this point shows; None if there is none."""
        if is_own_load:
            return by_cell.get((point, self.metric, self.statistic))
        statistics = STATISTICS if self.statistic in (POOLED, "mean") else (self.statistic,)
        results = (by_cell.get((point, self.metric, statistic)) for statistic in statistics if not self.is_own)
        return next(filter(None, results), None)


COLUMNS = (
    Column("Requests", "requests", "total", None),
    Column("Failed", "failed_requests", "total", None),
    Column("Output speed, tok/s", "output_tps", POOLED, 1, with_sd=True),
    Column("Output over whole phases, tok/s", "output_tps", "mean", 1, with_sd=True, is_own=True),
    Column("Sum of request rates, tok/s", "sum_of_rates_tps", "mean", 1),
    Column("Requests/s", "request_tps", POOLED, 2),
    Column("Good requests/s", "goodput_rps", "mean", 2),
    Column("Prefill speed, tok/s", "prompt_tps", POOLED, 0, with_sd=True),
    Column("Decode speed, tok/s", "decode_tps", POOLED, 1, with_sd=True),
    Column("Decode speed of the batch, tok/s", "batch_decode_tps", "mean", 1),
    Column("End-to-end speed, tok/s", "e2e_tps", "mean", 1, with_sd=True),
    Column("Prompt and output, tok/s", "total_tps", "mean", 1, with_sd=True),
    Column("Computed prompt tokens", "computed_prompt_tokens", "total", None),
    Column("Computed when recorded", "recorded_computed_prompt_tokens", "total", None),
    Column("Tokens", "completion_tokens", "mean", 0),
    Column("Tokens per step", "tokens_per_step", "mean", 2),
    Column("Accepted", "acceptance_rate", "mean", None, is_percent=True),
    Column("Thinking", "thinking_ratio", "mean", None, is_percent=True),
    Column("Looping", "looping_requests", "total", None),
    Column("Repeated text", "looped_ratio", "mean", None, is_percent=True),
    Column("TTFT p50, ms", "ttft_ms", "median", 0),
    Column("TTFT p95, ms", "ttft_ms", "p95", 0),
    Column("TPOT p50, ms", "tpot_ms", "median", 1),
    Column("TPOT p95, ms", "tpot_ms", "p95", 1),
    Column("E2E p50, ms", "e2e_ms", "median", 0),
    Column("E2E p95, ms", "e2e_ms", "p95", 0),
    Column("E2E p99, ms", "e2e_ms", "p99", 0),
)
SHOWN_STATISTICS = {
    (column.metric, statistic)
    for column in COLUMNS
    for statistic in (STATISTICS if column.statistic in (POOLED, "mean") else (column.statistic,))
}


def show_load_results(run: Run) -> None:
    """Show every load of the run, the newest first and unfolded."""
    store = store_for_runs([run])
    loads = [load for load in load_queries.loads(store, [run.id])[run.id] if load.plan]
    by_load = load_queries.outcomes(store, [run.id])[run.id]
    if not loads or not by_load:
        return
    st.subheader("Load results")
    titles = load_titles(loads)
    for index, (load, title) in enumerate(zip(reversed(loads), reversed(titles), strict=True)):
        outcome = by_load.get(str(load.load_id), LoadOutcome())
        with url_expander(title, f"load-{load.load_id}", "run", is_open=index == 0):
            st.caption(describe_load(load), help=utc_help(asked=load.plan.ts if load.plan else None))
            _show_outcome(load, outcome)
            show_agent_task(run, store, load, outcome.checks)
            show_endurance(store, load)
            show_fidelity(store, load)
    offer_deletion(run)


def load_titles(loads: Sequence[LoadRecord]) -> list[str]:
    """Return a title for each load, oldest first: 'Five prompts', or 'Five prompts, load 2' if there are several."""
    names = [_load_name(load) for load in loads]
    return [
        markdown_text(f"{name}, load {names[: index + 1].count(name)}" if names.count(name) > 1 else name)
        for index, name in enumerate(names)
    ]


def _load_name(load: LoadRecord) -> str:
    """'Five prompts', 'ladder (guidellm 0.7.1)' or 'lm-eval 0.4.9' of a tool, or 'Agent task parser (agent 2.1)'."""
    assert load.plan
    if load.plan.workload == AGENT_TASK:
        version = f" ({load.plan.tool_version})" if load.plan.tool_version else ""
        return f"Agent task {task_title(load.plan.params)}{version}"
    name = REGISTRY[load.plan.workload].title if load.plan.workload in REGISTRY else load.plan.workload
    by = " ".join(filter(None, [load.plan.tool, load.plan.tool_version]))
    if load.plan.tool == TOOL:
        return name
    return by if name == load.plan.tool else f"{name} ({by})"


def describe_load(load: LoadRecord) -> str:
    """Return start, duration, requests, completeness and whether the load generator may have been the bottleneck."""
    phases = [phase for phase in load.phases if phase.kind == "measure"]
    parts = [format_time(load.plan.ts)] if load.plan else []
    parts += [f"measured for {duration(sum(p.duration_s - p.paused_s for p in phases))}"] if phases else []
    parts += [f"{len(load.measured)} requests measured"] if load.measured else []
    parts += ["cut short: the tool was cancelled"] if load.plan and load.plan.params.get(CUT_SHORT) else []
    parts += [f"{load.unsent} planned requests were not sent"] if load.unsent else []
    parts += (
        ["stopped early: its measured requests remain valid"] if any(not phase.is_complete for phase in phases) else []
    )
    busiest = max((share for phase in phases if (share := client_share(phase)) is not None), default=None)
    if busiest is not None and busiest >= CLIENT_LIMIT:
        parts.append(f"the load generator used {100 * busiest:.0f} % of a core and may have been the bottleneck")
    most = max((phase.client_processes or 1 for phase in phases), default=1)
    parts += [f"sent by {most} processes"] if most > 1 else []
    approximate = next((why for request in load.measured if (why := request.extra.get(LENGTH_REASON))), None)
    parts += [markdown_text(reasons_text(approximate) or "")] if approximate else []
    parts += [f"from the file {markdown_text(load.plan.source_name)}"] if load.plan and load.plan.source_name else []
    return ", ".join(parts if len(parts) > 1 else [*parts, "its requests are unknown"])


def client_share(phase: LoadPhase) -> float | None:
    """Return the share of a core that each process of the load generator used in a phase."""
    busy_s = (phase.duration_s - phase.paused_s) * (phase.client_processes or 1)
    return None if phase.client_cpu_s is None or busy_s <= 0 else phase.client_cpu_s / busy_s


def _show_outcome(load: LoadRecord, outcome: LoadOutcome) -> None:
    for result in outcome.results:
        if result.metric == "users_held":
            users = (
                "no user" if result.value is None else "1 user" if result.value == 1 else f"{result.value:.0f} users"
            )
            st.markdown(f"**It holds {users}** ({markdown_text(reasons_text(result.reason) or '')}).")
    show_check_grids([check for check in outcome.checks if check.suite != AGENT_TASK])
    rows = shown_results(load, outcome)
    if rows:
        head, cells = results_table(rows)
        if cells:
            st.html(markup.table(head, cells, is_numeric=True))
        show_other_results([row for row in rows if (row.metric, row.statistic) not in SHOWN_STATISTICS])
        show_stated_settings(load)
        show_grid_map(rows, str(load.load_id))
        show_latency_against_throughput(rows, str(load.load_id))
    show_distributions(load)
    if outcome.accuracy:
        _show_accuracy(outcome)


def shown_results(load: LoadRecord, outcome: LoadOutcome) -> list[Result]:
    """Return the load's results: of Pitwall's requests by today's definitions, of another tool as it reported them."""
    stored = [result for result in outcome.results if result.metric not in OWN_PLACES]
    if load.plan is None or load.plan.tool != TOOL or not load.measured:
        return stored
    computed_results = list(results_of(load.plan.load_id, load.plan.ts, load.requests))
    computed = {(result.metric, result.statistic) for result in computed_results}
    return computed_results + [result for result in stored if (result.metric, result.statistic) not in computed]


def results_table(rows: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells: one row per point, one column per statistic that any of them has.

    A point without any of them, such as a draft position, has no row.
    """
    by_cell = {(row.point, row.metric, row.statistic): row for row in rows}
    points = list(dict.fromkeys(row.point for row in rows))
    is_own = all(row.definition == DEFINITION for row in rows)
    columns = [column for column in COLUMNS if any(column.result(by_cell, point, is_own) for point in points)]
    nothing_failed = all(not row.value for row in rows if row.metric == "failed_requests")
    columns = [c for c in columns if not (c.metric == "failed_requests" and nothing_failed)]
    points = [point for point in points if any(column.result(by_cell, point, is_own) for column in columns)]
    cells = [
        [markup.text(point), *(_cell(column.result(by_cell, point, is_own), column) for column in columns)]
        for point in points
    ]
    return ["", *(column.title for column in columns)], cells


def _cell(result: Result | None, column: Column) -> str:
    if result is None or result.value is None:
        return markup.number(DASH, why=reasons_text(result.reason) if result else None)
    return markup.number(column.text(result.value, result.sd))


def _decimals_of_three_digits(value: float) -> int:
    """Return how many decimals show three significant digits; none of a whole number, and of one that is not finite."""
    return 0 if not math.isfinite(value) or value == int(value) else max(0, 2 - math.floor(math.log10(abs(value))))


def show_other_results(rows: Sequence[Result]) -> None:
    """Show the statistics of other tools that the table does not contain."""
    foreign = [row for row in rows if row.definition != DEFINITION]
    if not foreign:
        return
    with st.popover("Everything the tool reported"):
        cells = [
            [
                markup.text(row.point),
                markup.text(f"{row.metric} {row.statistic}"),
                _value_cell(row),
                markup.text(row.unit),
            ]
            for row in foreign
        ]
        st.html(markup.table(["Point", "Metric", "Value", "Unit"], cells))


def stated_settings(load: LoadRecord) -> list[tuple[str, str]]:
    """Return what another tool's file states besides its results: names and values, of nested values their JSON."""
    if load.plan is None or load.plan.source_name is None:
        return []
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in load.plan.params.items()
        if name not in (CUT_SHORT, DRIVER_OPTIONS)
    ]


def show_stated_settings(load: LoadRecord) -> None:
    """Show the settings that the file of another tool states."""
    settings = stated_settings(load)
    if settings:
        with st.popover("Settings as the file states them"):
            cells = [[markup.text(name), markup.text(value)] for name, value in settings]
            st.html(markup.table(["Setting", "Value"], cells))


def _value_cell(result: Result | Accuracy, form: str = ".4g") -> str:
    if result.value is None:
        return markup.number(DASH, why=reasons_text(result.reason))
    return markup.text(format(result.value, form))


def _show_accuracy(outcome: LoadOutcome) -> None:
    cells = [
        [
            markup.text(f"{accuracy.task} ({accuracy.filter})" if accuracy.filter != "none" else accuracy.task),
            markup.text(accuracy.metric),
            _value_cell(accuracy, ".1%"),
            DASH
            if accuracy.low is None or accuracy.high is None
            else markup.text(f"{100 * accuracy.low:.1f} % to {100 * accuracy.high:.1f} %"),
            markup.text(accuracy.n if accuracy.n is not None else DASH),
        ]
        for accuracy in outcome.accuracy
    ]
    st.html(markup.table(["Task", "Metric", "Correct", "95 % interval (Wilson)", "Items"], cells, is_numeric=True))
