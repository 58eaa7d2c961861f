"""How far the load of a run is, with an estimate; and pausing, going on with and cancelling it.

What a page says of a run's state is as old as the page's last run; the bars are looked at anew all the while, and where
a state has changed they have the whole page run anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st

from domain import Run, RunState
from launcher.processes.workload_signals import Order
from web import audit
from web.actions import Once, is_editor, require_editor
from web.context import services
from web.markup import markdown_text
from web.runs.loads.load_progress import IS_PAUSED, load_under_way
from web.sharing.share_dialog import is_sharing
from web.theme import duration
from workloads import REGISTRY
from workloads.process.driven import tool_of
from workloads.process.job import Progress

LOOK_S = 2.0


def workload_progress(runs: Sequence[Run], is_compact: bool = False) -> None:
    """A bar for every one of these runs that is under load, followed until the last of them has ended.

    `is_compact` puts them behind one button that says how far they are.
    """
    if any(not run.state.is_final for run in runs):
        st.fragment(_bars, run_every=LOOK_S)({run.id: run.state for run in runs}, is_compact)


def _bars(drawn: Mapping[str, RunState], is_compact: bool) -> None:
    """`drawn` as the rest of the page shows the runs; an open dialog would not survive the page's next run."""
    runs = {run.id: run for run in services().store.runs_of(list(drawn))}
    if {run_id: run.state for run_id, run in runs.items()} != drawn and not is_sharing():
        st.rerun()
    loads = [(run, progress) for run in map(runs.__getitem__, drawn) if (progress := load_under_way(run))]
    if not loads:
        return
    with st.popover(_summary([progress for _, progress in loads]), key="loads") if is_compact else st.container():
        for run, progress in loads:
            _bar(run, progress)


def _summary(loads: Sequence[Progress]) -> str:
    """'Load: 6 of 15 requests'; of several together."""
    done, total = sum(one.done for one in loads), sum(one.total for one in loads)
    words = "Load" if len(loads) == 1 else f"{len(loads)} loads"
    paused = " (paused)" if all(one.state == IS_PAUSED for one in loads) else ""
    return f"{words}: {done} of {total} requests{paused}"


def _bar(run: Run, progress: Progress) -> None:
    st.progress(
        progress.done / progress.total, f"**{markdown_text(run.name)}**: {describe(progress, datetime.now(UTC))}"
    )
    if not is_editor():
        return
    name = markdown_text(run.name)
    word, order = ("Go on with", Order.GO_ON) if progress.state == IS_PAUSED else ("Pause", Order.PAUSE)
    with st.container(horizontal=True):
        if not tool_of(progress.workload):  # which cannot be held up
            st.button(f"{word} the load of {name}", key=f"load-{run.id}", on_click=Once(_steer), args=(run.id, order))
        st.button(
            f"Cancel the load of {name}",
            key=f"load-cancel-{run.id}",
            on_click=Once(_steer),
            args=(run.id, Order.CANCEL),
            help="What is measured stays; requests under way are recorded as cancelled.",
        )


def describe(progress: Progress, now: datetime) -> str:
    """'Five prompts, Run 1/2: 6 of 15 requests, 1 failed, about 2:14 to go'."""
    if tool := tool_of(progress.workload):
        far = f", {progress.done} of {progress.total}" if progress.total > 1 else ""
        return f"{tool.title} is at work{far}: what it says is in workload.log"
    workload = REGISTRY[progress.workload].title
    words = [f"{progress.done} of {progress.total} requests"]
    words += [f"{progress.errors} failed"] if progress.errors else []
    words += [looping(progress)] if progress.looping else []
    age_s = (now - datetime.fromisoformat(progress.updated_at)).total_seconds()
    if progress.state == IS_PAUSED:
        words.append("paused: nothing more is sent")
    elif progress.remaining_s is None:
        words.append("time to go not known before the first request has ended")
    else:
        words.append(f"about {duration(max(0.0, progress.remaining_s - age_s))} to go")
    return f"{workload}, {progress.phase}: {', '.join(words)}"


def looping(progress: Progress) -> str:
    """'2 streams loop, the first since word 340: fast, but of repeated text', the first half bold."""
    count = "1 stream loops" if progress.looping == 1 else f"{progress.looping} streams loop"
    since = "" if progress.looping == 1 else "the first "
    return f"**{count}, {since}since word {progress.looping_since_word}**: fast, but of repeated text"


def _steer(run_id: str, order: Order) -> None:
    require_editor()
    services().supervisor.steer_workload(run_id, order)
    audit.record(f"{order} the load", [run_id])
