"""Parameters of a comparison in the page's URL, so that a link shows everybody the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from analysis.comparison.arms import DeclaredRepeat
from analysis.comparison.workload import WorkloadKey, WorkloadNotSharedError
from analysis.evidence.objectives import Objective, UnknownObjectiveError, parse_objective
from analysis.guard import DECLARABLE, RowCode
from analysis.verdict import MARGIN, UnknownMarginError, parse_margin
from domain import Run
from reports.arms.comparison import ComparisonOptions, ComparisonReport, comparison_of
from storage.queries.run_data import Queryable
from web.compare.cached_reports import log_speeds_on

OBJECTIVE, DECLARED, APART, OUT, JOIN = "objective", "compare", "apart", "out", "join"
MARGIN_NAME, WORKLOAD = "margin", "workload"
NAMES = (OBJECTIVE, DECLARED, APART, OUT, JOIN, MARGIN_NAME, WORKLOAD)
SEPARATOR = ":"
LONGEST_REASON = 200
NO_REASON = "no reason was given"


def comparison_query() -> str:
    """Return the comparison's parameters of this URL as a query string."""
    return urlencode([(name, value) for name in NAMES for value in st.query_params.get_all(name)])


def options_from_url() -> tuple[ComparisonOptions, list[str]]:
    """Return the parameters of this URL, and one sentence for each invalid one."""
    return parse_options({name: st.query_params.get_all(name) for name in NAMES})


def parse_options(params: Mapping[str, Sequence[str]]) -> tuple[ComparisonOptions, list[str]]:
    """Parse parameters by name; return them, and one sentence for each invalid one."""
    objective, problems = _objective(_last(params, OBJECTIVE))
    margin, margin_problems = _margin(_last(params, MARGIN_NAME))
    codes = params.get(DECLARED, ())
    declared = frozenset(code for code in DECLARABLE if code.value in codes)
    problems += [
        f"{code[:40]!r} is not a difference that can be compared on purpose." for code in codes if code not in declared
    ]
    apart, left_out = frozenset(params.get(APART, ())), dict(map(_parse_left_out, params.get(OUT, ())))
    joined = dict(map(_parse_joined, params.get(JOIN, ())))
    return ComparisonOptions(
        objective, declared, apart, left_out, joined, margin, _last(params, WORKLOAD)
    ), problems + margin_problems


def _last(params: Mapping[str, Sequence[str]], name: str) -> str | None:
    return next(reversed(params.get(name, ())), None)


def compare_runs(
    store: Queryable, runs: Sequence[Run], options: ComparisonOptions
) -> tuple[ComparisonReport, list[str]]:
    """Return the comparison; if the requested workload is not shared, that of the proposed one, and a sentence."""
    try:
        return comparison_of(store, runs, options, log_speeds_on), []
    except WorkloadNotSharedError as error:
        return comparison_of(store, runs, replace(options, workload=None), log_speeds_on), [str(error)]


def _objective(name: str | None) -> tuple[Objective | None, list[str]]:
    try:
        return (parse_objective(name) if name else None), []
    except UnknownObjectiveError as error:
        return None, [str(error)]


def _margin(text: str | None) -> tuple[float, list[str]]:
    try:
        return (parse_margin(text) if text else MARGIN), []
    except UnknownMarginError as error:
        return MARGIN, [str(error)]


def _parse_left_out(entry: str) -> tuple[str, str]:
    run_id, _, reason = entry.partition(SEPARATOR)
    return run_id, reason[:LONGEST_REASON] or NO_REASON


def _parse_joined(entry: str) -> tuple[str, DeclaredRepeat]:
    """Parse 'RUN:TARGET:REASON'."""
    run_id, _, target_text = entry.partition(SEPARATOR)
    target_id, _, reason = target_text.partition(SEPARATOR)
    return run_id, DeclaredRepeat(target_id, reason[:LONGEST_REASON] or NO_REASON)


def set_objective(objective: Objective) -> None:
    """Write the objective to the URL: 'output_tps@8'."""
    st.query_params[OBJECTIVE] = objective.name


def set_workload(workload: WorkloadKey) -> None:
    """Write the workload to the URL and drop the objective, since another workload has its own."""
    st.query_params[WORKLOAD] = workload.id
    st.query_params.pop(OBJECTIVE, None)


def set_margin(margin: float) -> None:
    """Write the smallest relevant difference to the URL, as a fraction: 0.02."""
    st.query_params[MARGIN_NAME] = f"{margin:g}"


def set_declared(codes: Sequence[RowCode]) -> None:
    """Write to the URL the differences that are compared on purpose and so do not prevent an answer."""
    st.query_params[DECLARED] = [code.value for code in codes]


def set_apart(run_ids: Sequence[str]) -> None:
    """Write to the URL the runs that are arms of their own."""
    st.query_params[APART] = list(run_ids)


def join(run_id: str, target_id: str, reason: str) -> None:
    """Count a run as a repeat of another one's arm, in the URL, with the reason to show."""
    undo_join(run_id)
    entry = SEPARATOR.join([run_id, target_id, reason[:LONGEST_REASON]])
    st.query_params[JOIN] = [*st.query_params.get_all(JOIN), entry]


def undo_join(run_id: str) -> None:
    """Let a run belong to the arm of its own facts again."""
    st.query_params[JOIN] = [entry for entry in st.query_params.get_all(JOIN) if _parse_joined(entry)[0] != run_id]


def leave_out(run_id: str, reason: str) -> None:
    """Exclude a run in the URL, with the reason to show."""
    remaining = [entry for entry in st.query_params.get_all(OUT) if _parse_left_out(entry)[0] != run_id]
    st.query_params[OUT] = [*remaining, f"{run_id}{SEPARATOR}{reason[:LONGEST_REASON]}"]


def count_again(run_id: str) -> None:
    """Remove a run from those excluded in the URL."""
    st.query_params[OUT] = [entry for entry in st.query_params.get_all(OUT) if _parse_left_out(entry)[0] != run_id]
