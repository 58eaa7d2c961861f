"""Progress bars of running loads with the estimated remaining time, and buttons to pause, resume and cancel them.

A page shows run states as of its last script run; the bars refresh on their own and rerun the page if a state changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st

from domain import Run, RunState
from launcher.processes.workload_signals import LoadSignal
from load_records import AGENT_TASK
from web import audit
from web.actions import Once, is_editor, require_editor
from web.context import services
from web.loads.panels.load_progress import IS_PAUSED, running_load
from web.markup import markdown_text
from web.sharing.share_dialog import is_sharing
from web.theme import duration
from workloads import REGISTRY
from workloads.job import LoadProgress
from workloads.process.external_tools import tool_of

LOOK_S = 2.0


def show_workload_progress(runs: Sequence[Run], is_compact: bool = False) -> None:
    """Show a progress bar for each of these runs that is under load, refreshed until the last of them has ended.

    `is_compact` puts the bars behind one button that shows the overall progress.
    """
    if any(not run.state.is_final for run in runs):
        st.fragment(_show_bars, run_every=LOOK_S)({run.id: run.state for run in runs}, is_compact)


def _show_bars(shown_states: Mapping[str, RunState], is_compact: bool) -> None:
    """Show the bars; rerun the page if a state differs from `shown_states`, unless a dialog is open."""
    runs = {run.id: run for run in services().store.runs_of(list(shown_states))}
    if {run_id: run.state for run_id, run in runs.items()} != shown_states and not is_sharing():
        st.rerun()
    loads = [(run, progress) for run in map(runs.__getitem__, shown_states) if (progress := running_load(run))]
    if not loads:
        return
    with st.popover(_summary([progress for _, progress in loads]), key="loads") if is_compact else st.container():
        for run, progress in loads:
            _show_bar(run, progress)


def _summary(loads: Sequence[LoadProgress]) -> str:
    """Return a text such as 'Load: 6 of 15 requests', summed over the loads."""
    done_count, total = sum(load.done for load in loads), sum(load.total for load in loads)
    label = "Load" if len(loads) == 1 else f"{len(loads)} loads"
    paused = " (paused)" if all(load.state == IS_PAUSED for load in loads) else ""
    return f"{label}: {done_count} of {total} requests{paused}"


def _show_bar(run: Run, progress: LoadProgress) -> None:
    st.progress(
        progress.done / progress.total, f"**{markdown_text(run.name)}**: {describe(progress, datetime.now(UTC))}"
    )
    if not is_editor():
        return
    name = markdown_text(run.name)
    label, order = ("Resume", LoadSignal.GO_ON) if progress.state == IS_PAUSED else ("Pause", LoadSignal.PAUSE)
    with st.container(horizontal=True):
        if progress.workload in REGISTRY:  # other tools and agents cannot be paused
            st.button(f"{label} the load of {name}", key=f"load-{run.id}", on_click=Once(_steer), args=(run.id, order))
        st.button(
            f"Cancel the load of {name}",
            key=f"load-cancel-{run.id}",
            on_click=Once(_steer),
            args=(run.id, LoadSignal.CANCEL),
            help="Results so far are kept; requests in progress are recorded as cancelled.",
        )


def describe(progress: LoadProgress, now: datetime) -> str:
    """Return a text such as 'Five prompts, Run 1/2: 6 of 15 requests, 1 failed, about 2:14 to go'."""
    if tool := tool_of(progress.workload):
        count = f", {progress.done} of {progress.total}" if progress.total > 1 else ""
        return f"{tool.title} is running{count}: its output is in workload.log"
    if progress.workload == AGENT_TASK:
        return f"Agent task, {progress.phase} of {progress.total}: {progress.done} ended, {progress.errors} not solved"
    workload = REGISTRY[progress.workload].title
    parts = [f"{progress.done} of {progress.total} requests"]
    parts += [f"{progress.errors} failed"] if progress.errors else []
    parts += [looping(progress)] if progress.looping else []
    age_s = (now - datetime.fromisoformat(progress.updated_at)).total_seconds()
    if progress.state == IS_PAUSED:
        parts.append("paused: no requests are sent")
    elif progress.remaining_s is None:
        parts.append("remaining time unknown until the first request has ended")
    else:
        parts.append(f"about {duration(max(0.0, progress.remaining_s - age_s))} to go")
    return f"{workload}, {progress.phase}: {', '.join(parts)}"


def looping(progress: LoadProgress) -> str:
    """Return '2 streams loop, the first since word 340: fast, but repeated text', with its first half bold."""
    count = "1 stream loops" if progress.looping == 1 else f"{progress.looping} streams loop"
    since = "" if progress.looping == 1 else "the first "
    return f"**{count}, {since}since word {progress.looping_since_word}**: fast, but repeated text"


def _steer(run_id: str, order: LoadSignal) -> None:
    require_editor()
    services().supervisor.steer_workload(run_id, order)
    audit.record(f"{order} the load", [run_id])
