"""Table of the changes over a long load: speed, memory, empty and looping answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.endurance import (
    FEWEST_SESSIONS,
    MEMORY_PARTS,
    NOTED_DRIFT,
    Endurance,
    MemoryGrowth,
    endurance_of,
    is_drifting,
)
from analysis.runs.conditions import Span
from analysis.verdict.ratio import Ratio
from storage.queries.condition_queries import memory_growth
from storage.queries.run_data import Queryable
from web import markup
from web.theme import byte_size
from workloads.shapes.endurance import ENDURANCE

ABOUT = (
    "The last third of the sessions against the first, by the same turns, with a 95 % interval over the sessions "
    "that allows for neighbouring sessions being alike. A drift is claimed if the whole interval lies beyond "
    f"{100 * NOTED_DRIFT:.0f} %. Memory has its interval in the same way, over {MEMORY_PARTS} equal parts of the load."
)


def show_endurance(store: Queryable, load: LoadRecord) -> None:
    """Show the drift of a load of many sessions; nothing for other loads."""
    if load.plan is None or load.plan.workload != ENDURANCE.name or (drift := endurance_of(load.measured)) is None:
        return
    phases = [phase for phase in load.phases if phase.kind == "measure"]
    spans = [Span(load.run_id, phase.began_at, phase.ts) for phase in phases]
    growth = [gpu for span in spans for gpu in memory_growth(store, span)]
    rows = [[markup.text(cell) for cell in cells] for cells in endurance_cells(drift, growth)]
    st.html(markup.table(["Over the load", "", ""], rows))
    st.caption(ABOUT)


def endurance_cells(drift: Endurance, growth: Sequence[MemoryGrowth]) -> Iterator[list[str]]:
    """Yield title, value and what is concluded of it, per row."""
    for title, ratio in (("Decode speed, last third", drift.decode), ("Time to first token, last third", drift.ttft)):
        yield [title, *_ratio_cells(ratio, drift.sessions)]
    for gpu in growth:
        owner = "of the run's processes" if gpu.is_process else "of all processes"
        yield [f"GPU {gpu.gpu_index} memory {owner}", _signed(gpu.change_bytes), _growth_text(gpu)]
    if not growth:
        yield ["GPU memory", "not known", "no GPU was sampled during the load"]
    yield ["Empty answers", f"{drift.empty} of {drift.turns}", ""]
    yield ["Looping answers", f"{drift.looping} of {drift.turns}", ""]
    if drift.failed:
        yield ["Failed requests", f"{drift.failed} of {drift.turns + drift.failed}", ""]


def _growth_text(gpu: MemoryGrowth) -> str:
    """Return '+1.0 GiB an hour (+0.9 GiB to +1.1 GiB): it grows'."""
    per_hour, interval = f"{_signed(gpu.bytes_per_hour)} an hour", gpu.interval_per_hour
    if interval is None:
        return f"{per_hour}; whether it grows is not known yet"
    low, high = interval
    if low == high:
        return "it is the same all the time"
    words = "it grows" if low > 0 else "it falls" if high < 0 else "no growth is known"
    return f"{per_hour} ({_signed(low)} to {_signed(high)}): {words}"


def _signed(size: float) -> str:
    return f"{'+' if size >= 0 else '-'}{byte_size(abs(size))}"


def _ratio_cells(ratio: Ratio | None, sessions: int) -> list[str]:
    if ratio is None:
        return ["not known", f"{sessions} complete sessions; {FEWEST_SESSIONS} are needed"]
    text = f"{ratio.ratio:.3f}×"
    if ratio.interval is None:
        return [text, "no interval can be given yet; more sessions settle it"]
    low, high = ratio.interval
    words = {True: "it drifts", False: "no drift is known", None: ""}
    return [f"{text} ({low:.3f}× to {high:.3f}×)", words[is_drifting(ratio)]]
