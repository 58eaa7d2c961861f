"""Where the time from a start to readiness goes, as numbers that sum to it, and what a restart costs.

Formula: the phases that the log states, those inside another one taken out of it; what nothing states is 'other'.
Source: vLLM's 'Model loading took', 'init engine ... (compilation: ...)' and 'Graph capturing finished': loading holds
the weights' reading, the engine's start holds compilation and graph capture and begins after loading.
Caveats: phases of several ranks run side by side, the slowest counts; where the phases sum to more than the total they
overlap in a way that is not known, and no split is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reasons import Code, Reason

TOLERANCE_S = 1.0  # logs round, and the total is taken by another clock


class Phases(NamedTuple):
    """Seconds by phase, in their order; they sum to the total. Empty with a reason."""

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
    """The split; a part that the log does not state is in the part around it, or in 'other'."""
    if total_s is None:
        return Phases({}, Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("total_s",)}))
    seconds_by_name = {
        "weights": weights_s,
        "rest of loading": _rest(loading_s, weights_s),
        "draft model": draft_s,
        "compilation": compile_s,
        "graph capture": graphs_s,
        "rest of the engine's start": _rest(engine_s, compile_s, graphs_s),
    }
    known = {name: seconds for name, seconds in seconds_by_name.items() if seconds}
    other_s = total_s - sum(known.values())
    if other_s < -TOLERANCE_S:
        values = {"phases_s": sum(known.values()), "total_s": total_s}
        return Phases({}, Reason(Code.PHASES_OVERLAP, values=values))
    return Phases({**known, "other": other_s})


def restart_tokens(total_s: float, output_tps: float) -> float:
    """Output tokens that are not served while the server starts again, at the speed that it served with."""
    return total_s * output_tps


def _rest(whole_s: float | None, *parts_s: float | None) -> float | None:
    """What is left of a phase beside the parts that are shown by themselves; parts that are larger leave nothing."""
    return None if whole_s is None else max(whole_s - sum(part or 0.0 for part in parts_s), 0.0)
