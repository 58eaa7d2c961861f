"""Breakdown of the start-up time into phases that sum to it, and the cost of a restart.

Formula: the phases that the log states, nested ones subtracted from their parent; the remainder is 'other'.
Source: vLLM's 'Model loading took', 'init engine ... (compilation: ...)' and 'Graph capturing finished': loading
includes reading the weights; the engine's start includes compilation and graph capture and begins after loading.
Caveats: phases of several ranks run in parallel, the slowest counts; if the phases sum to more than the total, they
overlap in an unknown way and there is no split.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reasons import Code, Reason

TOLERANCE_S = 1.0  # logs round, and another clock measures the total


class Phases(NamedTuple):
    """Seconds by phase, in order; they sum to the total. Empty with a reason."""

    seconds: Mapping[str, float]
    reason: Reason | None = None


def startup_phases(
    total_s: float | None,
    weights_s: float | None = None,
    loading_s: float | None = None,
    draft_s: float | None = None,
    compile_s: float | None = None,
    graphs_s: float | None = None,
    engine_s: float | None = None,
) -> Phases:
    """Return the split; a phase that the log does not state counts in its parent or in 'other'."""
    if total_s is None:
        return Phases({}, Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("total_s",)}))
    seconds_by_name = {
        "weights": weights_s,
        "rest of loading": _remaining_s(loading_s, weights_s),
        "draft model": draft_s,
        "compilation": compile_s,
        "graph capture": graphs_s,
        "rest of the engine's start": _remaining_s(engine_s, compile_s, graphs_s),
    }
    stated_s = {name: seconds for name, seconds in seconds_by_name.items() if seconds}
    other_s = total_s - sum(stated_s.values())
    if other_s < -TOLERANCE_S:
        values = {"phases_s": sum(stated_s.values()), "total_s": total_s}
        return Phases({}, Reason(Code.PHASES_OVERLAP, values=values))
    return Phases({**stated_s, "other": other_s})


def restart_tokens(total_s: float, output_tps: float) -> float:
    """Return the output tokens lost during a restart, at the server's speed."""
    return total_s * output_tps


def _remaining_s(whole_s: float | None, *parts_s: float | None) -> float | None:
    """Return a phase minus its separately shown parts, at least zero."""
    return None if whole_s is None else max(whole_s - sum(part or 0.0 for part in parts_s), 0.0)
