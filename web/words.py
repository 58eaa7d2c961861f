"""Reasons in words: the one place where a code of `analysis/reasons.py` becomes a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analysis.reasons import Code, Reason

Names = Mapping[str, str]  # run id -> name
Values = Mapping[str, Any]

UNKNOWN: Mapping[Code, Callable[[Values], str]] = {
    Code.NO_WINDOW: lambda v: "no window was recorded",
    Code.TOO_FEW_WINDOWS: lambda v: (
        f"{v['active']} active of {v['windows']} windows: fewer than {v['fewest']} say nothing"
    ),
    Code.NO_STEP_COUNTED: lambda v: "no step was counted",
    Code.NO_STEP_COUNTER: lambda v: "there is no step counter",
    Code.STEPS_MISSING: lambda v: f"{v['missing']} of {v['active']} active windows have no step count",
    Code.NO_DRAFT_MADE: lambda v: "no draft was made",
    Code.NO_DRAFT_TOLD: lambda v: "the engine told of no draft",
    Code.DRAFTS_NOT_COUNTED: lambda v: "the server counts no drafts",
    Code.DRAFTS_NOT_LOGGED: lambda v: "the log does not tell how many drafts were made",
    Code.REQUESTS_LEFT_OUT: lambda v: "some requests were left out, and the counters cannot leave them out",
    Code.PHASE_NOT_ENDED: lambda v: "the phase did not end",
    Code.NO_COUNTERS_BETWEEN: lambda v: "the counters were not read before and after the requests",
    Code.COUNTERS_DISAGREE: lambda v: (
        f"the counters grew by {v['counters']:,.0f} tokens where our requests had {v['client']:,.0f}"
    ),
    Code.NO_REQUEST_OF_KIND: lambda v: f"no request with {_at_once(v['concurrency'])} ended in all runs",
    Code.NO_STEADY_PART: lambda v: f"nine tenths of {v['concurrency']} requests were never in flight together",
    Code.TOO_FEW_REQUESTS: lambda v: f"{v['requests']} requests: a p95 needs {v['fewest']} a run",
    Code.TOKENS_DIFFER: lambda v: "the answers are not as long in all runs, so their times do not compare",
    Code.NO_ENERGY: lambda v: "the energy of its GPUs was not measured",
    Code.NOT_STARTED_BY_US: lambda v: "Pitwall did not start this server, or it never was ready",
    Code.NO_LOAD: lambda v: "no load of ours was put on it",
    Code.NO_LOG_SPEED: lambda v: "its log tells no window of decoding alone",
}


def why(reason: Reason | None) -> str | None:
    """Why a number of one run is not known."""
    return UNKNOWN[reason.code](reason.values) if reason else None


def window_words(window_s: float | None) -> str:
    """What a run's numbers are taken over: '2 s', or that a log gives each line a time of its own."""
    return "each log line's own time" if window_s is None else f"{window_s:g} s"


def _at_once(concurrency: int) -> str:
    return "nothing beside it" if concurrency == 1 else f"{concurrency} at once"
