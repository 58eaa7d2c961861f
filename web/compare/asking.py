"""What is asked of a comparison, as the address of the page holds it: a link shows the same answer to everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from analysis.comparison.workload import Workload, WorkloadNotSharedError
from analysis.evidence.objectives import Objective, UnknownObjectiveError, parse_objective
from analysis.guard import DECLARABLE, RowCode
from analysis.verdict import MARGIN, UnknownMarginError, parse_margin
from domain import Run
from reports.arms.comparison import Asking, ComparisonReport, comparison_of
from storage.ask.queries import Asked
from web.compare.kept_reports import windows_on

OBJECTIVE, DECLARED, APART, OUT = "objective", "compare", "apart", "out"
MARGIN_NAME, WORKLOAD = "margin", "workload"
NAMES = (OBJECTIVE, DECLARED, APART, OUT, MARGIN_NAME, WORKLOAD)
SEPARATOR = ":"
LONGEST_REASON = 200
NO_REASON = "no reason was given"


def address_of_asking() -> str:
    """What this address asks, as the query of another one."""
    return urlencode([(name, value) for name in NAMES for value in st.query_params.get_all(name)])


def asked_by_address() -> tuple[Asking, list[str]]:
    """The asking of this address, and one sentence for each part of it that says nothing."""
    return asked_by({name: st.query_params.get_all(name) for name in NAMES})


def asked_by(said: Mapping[str, Sequence[str]]) -> tuple[Asking, list[str]]:
    """The same of what an address says, by its names."""
    objective, problems = _objective(_last(said, OBJECTIVE))
    margin, no_margin = _margin(_last(said, MARGIN_NAME))
    words = said.get(DECLARED, ())
    declared = frozenset(code for code in DECLARABLE if code.value in words)
    problems += [f"{word[:40]!r} cannot be declared as what is compared." for word in words if word not in declared]
    apart, out = frozenset(said.get(APART, ())), dict(map(_left_out, said.get(OUT, ())))
    return Asking(objective, declared, apart, out, margin, _last(said, WORKLOAD)), problems + no_margin


def _last(said: Mapping[str, Sequence[str]], name: str) -> str | None:
    return next(reversed(said.get(name, ())), None)


def answered(store: Asked, runs: Sequence[Run], asking: Asking) -> tuple[ComparisonReport, list[str]]:
    """The comparison; where the workload asked for is not shared, that of the proposed one, and a sentence."""
    try:
        return comparison_of(store, runs, asking, windows_on), []
    except WorkloadNotSharedError as error:
        return comparison_of(store, runs, replace(asking, workload=None), windows_on), [str(error)]


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


def _left_out(word: str) -> tuple[str, str]:
    run_id, _, reason = word.partition(SEPARATOR)
    return run_id, reason[:LONGEST_REASON] or NO_REASON


def set_objective(objective: Objective) -> None:
    """Put what is compared by into the address: 'output_tps@8'."""
    st.query_params[OBJECTIVE] = objective.name


def set_workload(workload: Workload) -> None:
    """Another workload has objectives of its own: the address proposes one again."""
    st.query_params[WORKLOAD] = workload.id
    st.query_params.pop(OBJECTIVE, None)


def set_margin(margin: float) -> None:
    """Put the smallest difference that matters into the address, as a share: 0.02."""
    st.query_params[MARGIN_NAME] = f"{margin:g}"


def set_declared(codes: Sequence[RowCode]) -> None:
    """Put into the address what a person says is compared, so that it does not bar an answer."""
    st.query_params[DECLARED] = [code.value for code in codes]


def set_apart(run_ids: Sequence[str]) -> None:
    """Put into the address which runs are arms of their own, and repeats of no other."""
    st.query_params[APART] = list(run_ids)


def leave_out(run_id: str, reason: str) -> None:
    """Note that a run does not count, with the reason that is shown for it."""
    kept = [word for word in st.query_params.get_all(OUT) if _left_out(word)[0] != run_id]
    st.query_params[OUT] = [*kept, f"{run_id}{SEPARATOR}{reason[:LONGEST_REASON]}"]


def count_again(run_id: str) -> None:
    """Take a run off those that the address leaves out."""
    st.query_params[OUT] = [word for word in st.query_params.get_all(OUT) if _left_out(word)[0] != run_id]
