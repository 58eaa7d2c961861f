"""The queue on the Runs page: the waiting runs in order, and controls for them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from commands.sweep import estimate
from domain import WATCH, Run, utc_now
from launcher.runs.resource_claims import gpus_of, start_delays_s
from web import audit, markup
from web.actions import STARTED, UNSTARTED, Once, confirmed_button, is_operator, refusal_as_toast, require_operator
from web.context import services
from web.markup import markdown_text
from web.run_chips import chips_of
from web.runs.queue_words import current_waits
from web.theme import duration
from web.times import format_time

CLOCK = "%H:%M"
KNOWN_RUNS = 200  # the newest, from which the remaining time is estimated


def queue() -> None:
    """Show the queue; nothing while it is empty, not on hold, and none of its runs is running."""
    if _is_in_use():
        _show_queue()


def _is_in_use() -> bool:
    return any(_queued_and_started()) or services().supervisor.is_queue_on_hold


@st.fragment
def _show_queue() -> None:
    if not _is_in_use():  # since it was emptied by its own buttons
        return
    supervisor, (waiting, under_way) = services().supervisor, _queued_and_started()
    st.subheader("Queue")
    unheld = [run for run in waiting if run.batch_id not in supervisor.failed_starts()]
    outlook = _outlook(unheld, under_way) if unheld else NO_OUTLOOK
    st.caption(_summary(waiting, under_way, supervisor.is_queue_on_hold, outlook.text))
    held_batches(waiting)
    if is_operator():
        _controls(waiting, under_way, supervisor.is_queue_on_hold)
    waits, chips = current_waits(), chips_of(waiting)
    for position, run in enumerate(waiting):
        wait_line = _wait_line(run, waits.get(run.id, ""), outlook.starts_s.get(run.id))
        _row(waiting, position, run, [wait_line, markdown_text(" · ".join(chips[run.id]))])


def queue_fingerprint() -> Hashable:
    """Return a value that changes when the queue must be redrawn, since drawing its rows is expensive."""
    waiting, under_way = _queued_and_started()
    rows = tuple((run.id, run.name, run.state) for run in [*waiting, *under_way])
    supervisor = services().supervisor
    return rows, supervisor.is_queue_on_hold, tuple(supervisor.failed_starts())


def held_batches(waiting: Sequence[Run]) -> None:
    """Ask, for each batch whose first start failed, whether its other runs start or are cancelled."""
    for batch_id, failed_id in services().supervisor.failed_starts().items():
        ids = [run.id for run in waiting if run.batch_id == batch_id]
        if ids:
            _ask_about_batch(batch_id, failed_id, ids)


def _ask_about_batch(batch_id: str, failed_id: str, waiting_ids: Sequence[str]) -> None:
    failed = services().store.run(failed_id)
    name, cause = (failed.name, failed.cause or "") if failed else ("Its first run", "")
    count = len(waiting_ids)
    wait_text = "The other run of its batch waits" if count == 1 else f"{count} other runs wait"
    with st.container(key=f"held-{batch_id}"):
        st.warning(
            f"**{markdown_text(name)}** could not be started. {markdown_text(cause)} {wait_text} for your decision, "
            "since the next start would probably fail in the same way.",
            icon=":material/help:",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            if failed:
                st.html(f'<a target="_self" href="{markup.run_link("run", [failed_id])}">What happened</a>')
            if is_operator():
                st.button("Start the rest", key=f"release-{batch_id}", on_click=Once(_release), args=(batch_id,))
                st.button("Cancel the rest", key=f"drop-{batch_id}", on_click=Once(_cancel), args=(waiting_ids,))


def _queued_and_started() -> tuple[list[Run], list[Run]]:
    """Return the waiting runs, and the running ones that came from the queue."""
    supervisor = services().supervisor
    candidates = supervisor.queued_runs(), supervisor.live_runs()
    waiting, under_way = ([run for run in runs if run.queue_position is not None] for runs in candidates)
    return waiting, under_way


def _summary(waiting: Sequence[Run], under_way: Sequence[Run], is_on_hold: bool, outlook: str) -> str:
    parts = [f"{markdown_text(run.name)} is {run.state.value} {_gpus_text(run)}" for run in under_way]
    if waiting:
        parts += [f"{len(waiting)} waiting, each for earlier runs on its GPUs or port", outlook]
    else:
        parts.append("no run is waiting")
    if len(under_way) > 1:
        parts.append("side by side on one machine: not ranked")
    if is_on_hold:
        parts.append("**on hold: no further run is started**")
    return "; ".join(filter(None, parts)) + "."


class _Outlook(NamedTuple):
    """When the waiting runs start, by estimates from earlier runs."""

    starts_s: Mapping[str, float]  # by run id, from now; empty if unknown
    text: str  # until the last one ends


NO_OUTLOOK = _Outlook({}, "")


def _outlook(waiting: Sequence[Run], under_way: Sequence[Run]) -> _Outlook:
    """Estimate the starts of the waiting runs; unknown if the duration of any run is."""
    earlier, runs = services().store.runs(limit=KNOWN_RUNS), [*under_way, *waiting]
    estimates = [estimate(1, run.workload_names or WATCH.name, earlier, run.config) for run in runs]
    unknown_basis = next((run_estimate.basis for run_estimate in estimates if run_estimate.seconds is None), None)
    if unknown_basis:
        return _Outlook({}, f"remaining time not known: {unknown_basis}")
    now = utc_now()
    left_s = [
        max((run_estimate.seconds or 0.0) - ((now - run.started_at).total_seconds() if run.started_at else 0.0), 0.0)
        for run, run_estimate in zip(runs, estimates, strict=True)
    ]
    delays_s = start_delays_s(zip(runs, left_s, strict=True))
    end_s = max(delay + remaining_s for delay, remaining_s in zip(delays_s, left_s, strict=True))
    text = f"about {duration(end_s)} to go ({estimates[-1].basis})"
    return _Outlook({run.id: delay for run, delay in zip(runs, delays_s, strict=True)}, text)


def _controls(waiting: Sequence[Run], under_way: Sequence[Run], is_on_hold: bool) -> None:
    with st.container(horizontal=True):
        label = "Resume the queue" if is_on_hold else "Pause the queue"
        st.button(label, key="queue-hold", on_click=Once(_hold), args=(not is_on_hold,))
        for run in under_way:
            label = f"Skip {markdown_text(run.name)}"
            confirmed_button(
                label, f"{STARTED[0]} The next run starts.", "Skip it now", f"skip-{run.id}", _skip, run.id
            )
        if waiting:
            ids = [run.id for run in waiting]
            consequence = f"{len(ids)} run{'s leave' if len(ids) > 1 else ' leaves'} the queue, listed as cancelled."
            confirmed_button("Cancel all waiting runs", consequence, "Cancel them all", "queue-cancel", _cancel, ids)


def _wait_line(run: Run, wait: str, start_s: float | None) -> str:
    """Return what the run waits for, for about how long, and since when."""
    expected = f", about {duration(start_s)} more" if start_s and not services().supervisor.is_queue_on_hold else ""
    return f"{markdown_text(wait)}{expected}; queued at {format_time(run.created_at, CLOCK)}"


def _row(waiting: Sequence[Run], position: int, run: Run, small_lines: Sequence[str]) -> None:
    ids = [queued.id for queued in waiting]
    other_ids = [run_id for run_id in ids if run_id != run.id]
    load = f"under {markdown_text(run.workload_names or '')}" if run.workload not in (None, WATCH) else "without a load"
    with st.container(horizontal=True, vertical_alignment="center", key=f"queued-{run.id}"):
        title = f"{position + 1}. **{markdown_text(run.name)}** {load}, {_gpus_text(run)}"
        st.markdown("  \n".join([title, *(f":small[{line}]" for line in small_lines)]))
        if not is_operator():
            return
        moved_up = [*other_ids[: max(position - 1, 0)], run.id, *other_ids[max(position - 1, 0) :]]
        name = markdown_text(run.name)
        st.button(
            "First", key=f"first-{run.id}", on_click=Once(_reorder), args=([run.id],), disabled=position == 0, help=name
        )
        st.button(
            "Earlier", key=f"up-{run.id}", on_click=Once(_reorder), args=(moved_up,), disabled=position == 0, help=name
        )
        confirmed_button("Cancel", f"**{name}**: {UNSTARTED[0]}", UNSTARTED[1], f"cancel-{run.id}", _cancel, [run.id])


def _gpus_text(run: Run) -> str:
    """The GPUs that the run uses."""
    gpus = gpus_of(run.config)
    return f"on GPU {', '.join(map(str, sorted(gpus)))}" if gpus else "on the whole machine"


def _hold(is_on_hold: bool) -> None:
    require_operator()
    with refusal_as_toast():
        services().supervisor.hold_queue(is_on_hold)
        audit.record("pause the queue" if is_on_hold else "go on with the queue")


def _release(batch_id: str) -> None:
    require_operator()
    services().supervisor.release_batch(batch_id)
    audit.record("start the rest of a batch", [])


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
