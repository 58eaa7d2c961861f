"""What is asked of a comparison, as the address of the page holds it: a link shows the same answer to everybody."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.evidence.objectives import Objective, UnknownObjectiveError, parse_objective
from analysis.guard import DECLARABLE, RowCode
from reports.comparison import Asking

OBJECTIVE, DECLARED, APART, OUT = "objective", "compare", "apart", "out"
SEPARATOR = ":"
LONGEST_REASON = 200
NO_REASON = "no reason was given"


def asked_by_address() -> tuple[Asking, list[str]]:
    """The asking of this address, and one sentence for each part of it that says nothing."""
    params = st.query_params
    objective, problems = _objective(params.get(OBJECTIVE))
    words = params.get_all(DECLARED)
    declared = frozenset(code for code in DECLARABLE if code.value in words)
    problems += [f"{word[:40]!r} cannot be declared as what is compared." for word in words if word not in declared]
    apart, out = frozenset(params.get_all(APART)), dict(map(_left_out, params.get_all(OUT)))
    return Asking(objective, declared, apart, out), problems


def _objective(name: str | None) -> tuple[Objective | None, list[str]]:
    try:
        return (parse_objective(name) if name else None), []
    except UnknownObjectiveError as error:
        return None, [str(error)]


def _left_out(word: str) -> tuple[str, str]:
    run_id, _, reason = word.partition(SEPARATOR)
    return run_id, reason[:LONGEST_REASON] or NO_REASON


def set_objective(objective: Objective) -> None:
    st.query_params[OBJECTIVE] = objective.name


def set_declared(codes: Sequence[RowCode]) -> None:
    st.query_params[DECLARED] = [code.value for code in codes]


def set_apart(run_ids: Sequence[str]) -> None:
    st.query_params[APART] = list(run_ids)


def leave_out(run_id: str, reason: str) -> None:
    """Note that a run does not count, with the reason that is shown for it."""
    kept = [word for word in st.query_params.get_all(OUT) if _left_out(word)[0] != run_id]
    st.query_params[OUT] = [*kept, f"{run_id}{SEPARATOR}{reason[:LONGEST_REASON]}"]


def count_again(run_id: str) -> None:
    st.query_params[OUT] = [word for word in st.query_params.get_all(OUT) if _left_out(word)[0] != run_id]
