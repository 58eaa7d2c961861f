"""The queue on the Runs page: what waits and in which order, and what may be done about it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

from commands.sweep import estimate
from domain import WATCH, Run
from launcher.runs.resource_claims import gpus_of, span_s
from web import audit
from web.actions import Once, is_operator, refusal_as_toast, require_operator
from web.context import services
from web.markup import markdown_text
from web.theme import duration

KNOWN_RUNS = 200  # the newest, from which the time still to go is estimated


@st.fragment
def queue() -> None:
    """Nothing at all while no run waits and none that came from the queue is under way."""
    supervisor, (waiting, under_way) = services().supervisor, _of_queue()
    if not waiting and not under_way and not supervisor.is_queue_on_hold:
        return
    st.subheader("Queue")
    st.caption(_summary(waiting, under_way, supervisor.is_queue_on_hold))
    if is_operator():
        _controls(waiting, under_way, supervisor.is_queue_on_hold)
    for at, run in enumerate(waiting):
        _row(waiting, at, run)


def queue_stands() -> Hashable:
    """Another value once the queue has to be drawn anew: a row for each run that waits is dear to draw."""
    waiting, under_way = _of_queue()
    shown = tuple((run.id, run.name, run.state) for run in [*waiting, *under_way])
    return shown, services().supervisor.is_queue_on_hold


def _of_queue() -> tuple[list[Run], list[Run]]:
    """The runs that wait, and those under way that came from the queue."""
    supervisor = services().supervisor
    found = supervisor.queued_runs(), supervisor.live_runs()
    waiting, under_way = ([run for run in runs if run.queue_position is not None] for runs in found)
    return waiting, under_way


def _summary(waiting: Sequence[Run], under_way: Sequence[Run], is_on_hold: bool) -> str:
    words = [f"{markdown_text(run.name)} is {run.state.value} {_place(run)}" for run in under_way]
    if waiting:
        words += [f"{len(waiting)} waiting, each for those before it on its GPUs or its port", _time_to_go(waiting)]
    else:
        words.append("no run waits")
    if len(under_way) > 1:
        words.append("side by side on one machine: not ranked")
    if is_on_hold:
        words.append("**on hold: nothing more is started**")
    return "; ".join(words) + "."


def _time_to_go(waiting: Sequence[Run]) -> str:
    """How long the runs are likely to take; not known as soon as one of them is not."""
    earlier = services().store.runs(limit=KNOWN_RUNS)
    each = [estimate(1, run.workload_names or WATCH.name, earlier, run.config) for run in waiting]
    unknown = next((one.basis for one in each if one.seconds is None), None)
    if unknown:
        return f"time to go not known: {unknown}"
    span = span_s((run, one.seconds or 0.0) for run, one in zip(waiting, each, strict=True))
    return f"about {duration(span)} to go ({each[0].basis})"


def _controls(waiting: Sequence[Run], under_way: Sequence[Run], is_on_hold: bool) -> None:
    with st.container(horizontal=True):
        word = "Go on with the queue" if is_on_hold else "Pause the queue"
        st.button(word, key="queue-hold", on_click=Once(_hold), args=(not is_on_hold,))
        for run in under_way:
            st.button(f"Skip {markdown_text(run.name)}", key=f"skip-{run.id}", on_click=Once(_skip), args=(run.id,))
        if waiting:
            ids = [run.id for run in waiting]
            st.button("Cancel all that wait", key="queue-cancel", on_click=Once(_cancel), args=(ids,))


def _row(waiting: Sequence[Run], at: int, run: Run) -> None:
    ids = [one.id for one in waiting]
    rest = [run_id for run_id in ids if run_id != run.id]
    load = f"under {markdown_text(run.workload_names or '')}" if run.workload not in (None, WATCH) else "without a load"
    with st.container(horizontal=True, vertical_alignment="center", key=f"queued-{run.id}"):
        st.markdown(f"{at + 1}. **{markdown_text(run.name)}** {load}, {_place(run)}")
        if not is_operator():
            return
        earlier = [*rest[: max(at - 1, 0)], run.id, *rest[max(at - 1, 0) :]]
        name = markdown_text(run.name)
        st.button(
            "First", key=f"first-{run.id}", on_click=Once(_reorder), args=([run.id],), disabled=at == 0, help=name
        )
        st.button("Earlier", key=f"up-{run.id}", on_click=Once(_reorder), args=(earlier,), disabled=at == 0, help=name)
        st.button("Cancel", key=f"cancel-{run.id}", on_click=Once(_cancel), args=([run.id],), help=name)


def _place(run: Run) -> str:
    """What of the machine the run takes."""
    gpus = gpus_of(run.config)
    return f"on GPU {', '.join(map(str, sorted(gpus)))}" if gpus else "on the whole machine"


def _hold(is_on_hold: bool) -> None:
    require_operator()
    with refusal_as_toast():
        services().supervisor.hold_queue(is_on_hold)
        audit.record("pause the queue" if is_on_hold else "go on with the queue")


def _reorder(run_ids: Sequence[str]) -> None:
    require_operator()
    services().supervisor.reorder_queue(run_ids)
    audit.record("reorder the queue", run_ids[:1])


def _skip(run_id: str) -> None:
    require_operator()
    with refusal_as_toast():
        services().supervisor.skip(run_id)
        audit.record("skip", [run_id])


def _cancel(run_ids: Sequence[str]) -> None:
    require_operator()
    with refusal_as_toast():
        for run_id in run_ids:
            services().supervisor.cancel(run_id)
        audit.record("cancel", run_ids)
