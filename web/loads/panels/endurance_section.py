"""Table of the changes over a long load: speed, memory, empty and looping answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.endurance import (
    FEWEST_SESSIONS,
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
    f"{NOTED_DRIFT:.0%}."
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
        change = gpu.last_bytes - gpu.first_bytes
        value = f"{'+' if change >= 0 else '-'}{byte_size(abs(change))}"
        per_hour = f"{'+' if gpu.bytes_per_hour >= 0 else '-'}{byte_size(abs(gpu.bytes_per_hour))} an hour"
        yield [f"GPU {gpu.gpu_index} memory {owner}", value, per_hour]
    if not growth:
        yield ["GPU memory", "not known", "no GPU was sampled during the load"]
    yield ["Empty answers", f"{drift.empty} of {drift.turns}", ""]
    yield ["Looping answers", f"{drift.looping} of {drift.turns}", ""]
    if drift.failed:
        yield ["Failed requests", f"{drift.failed} of {drift.turns + drift.failed}", ""]


def _ratio_cells(ratio: Ratio | None, sessions: int) -> list[str]:
    if ratio is None:
        return ["not known", f"{sessions} complete sessions; {FEWEST_SESSIONS} are needed"]
    text = f"{ratio.ratio:.3f}×"
    if ratio.interval is None:
        return [text, "no interval can be given yet; more sessions settle it"]
    low, high = ratio.interval
    words = {True: "it drifts", False: "no drift is known", None: ""}
    return [f"{text} ({low:.3f}× to {high:.3f}×)", words[is_drifting(ratio)]]
