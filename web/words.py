"""Reasons in words: the one place where a code of `analysis/reasons.py` becomes a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.reasons import Code, Reason

Names = Mapping[str, str]  # run id -> name
Values = Mapping[str, Any]

# Of one run's numbers.
UNKNOWN: Mapping[Code, Callable[[Values], str]] = {
    Code.NO_WINDOW: lambda v: "no window was recorded",
    Code.TOO_FEW_WINDOWS: lambda v: (
        f"{v['active']} active of {v['windows']} windows: fewer than {v['fewest']} say nothing"
    ),
    Code.NO_STEP_COUNTED: lambda v: "no step was counted",
    Code.NO_STEP_COUNTER: lambda v: "there is no step counter",
    Code.STEPS_MISSING: lambda v: f"{v['missing']} of {v['active']} active windows have no step count",
    Code.NO_TOKENS_COUNTED: lambda v: "no active window counts its tokens",
    Code.NO_DRAFT_MADE: lambda v: "no draft was made",
    Code.NO_DRAFT_TOLD: lambda v: "the engine told of no draft",
    Code.DRAFTS_NOT_COUNTED: lambda v: "the server counts no drafts",
    Code.DRAFTS_NOT_LOGGED: lambda v: "the log does not tell how many drafts were made",
}
# Of one run in a comparison: what follows its name.
OF_ONE: Mapping[Code, Callable[[Values], str]] = {
    Code.FAILED: lambda v: f"failed: {why(v['why']) or 'unknown'}",
    Code.NO_SPEED: lambda v: f"has no decode speed to rank: {why(v['why']) or 'unknown'}",
    Code.SHARED_MACHINE: lambda v: f"shared its machine with {_counted(v['others'])}",
    Code.NO_WORKLOAD: lambda v: "had no workload of ours, so the prompts are not known to be the same",
    Code.UNFINISHED_LOAD: lambda v: f"did not finish its load: {v['unsent']} of its requests were not sent",
}
# Of two runs that differ.
OF_BOTH: Mapping[Code, Callable[[Values], str]] = {
    Code.OTHER_WORKLOAD: lambda v: f"different workloads: {_pair(v['workloads'])}",
    Code.OTHER_PROMPTS: lambda v: "different prompt sets",
    Code.OTHER_WORKLOAD_PARAMS: lambda v: f"the workload was set differently: {', '.join(v['params'])}",
    Code.OTHER_WINDOWS: lambda v: f"different windows: {_pair([window_words(one) for one in v['window_s']])}",
    Code.OTHER_DEFINITION: lambda v: f"decode speed is defined differently: {_pair(v['definitions'])}",
    Code.OTHER_CONCURRENCY: lambda v: (
        f"different concurrency in the ranked windows: {_pair([f'{one:.1f}' for one in v['requests']])} requests"
    ),
}


def why(reason: Reason | None) -> str | None:
    """Why a number of one run is not known."""
    return UNKNOWN[reason.code](reason.values) if reason else None


def why_not_ranked(reason: Reason, names: Names, stands_beside: str | None = None) -> str:
    """Why runs are not compared; beside the name of the run `stands_beside` that name is not said again."""
    said = tuple(names[run_id] for run_id in reason.run_ids)
    if reason.code is Code.OVERLAP:
        return f"{' and '.join(said)} ran at the same time on one machine"
    if reason.code in OF_BOTH:
        return OF_BOTH[reason.code](reason.values)
    if reason.code in UNKNOWN:
        return UNKNOWN[reason.code](reason.values)
    words = OF_ONE[reason.code](reason.values)
    return words if reason.run_ids == (stands_beside,) else f"{' and '.join(said)} {words}"


def window_words(window_s: float | None) -> str:
    """What a run's numbers are taken over: '2 s', or that a log gives each line a time of its own."""
    return "each log line's own time" if window_s is None else f"{window_s:g} s"


def _counted(runs: int) -> str:
    return "another run" if runs == 1 else f"{runs} other runs"


def _pair(values: Sequence[Any]) -> str:
    return " and ".join(map(str, values))
