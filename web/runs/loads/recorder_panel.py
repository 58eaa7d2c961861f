"""The recorder of a run on its page: opened, watched and closed by the operator; all others see that it is open."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from domain import Run, RunState, utc_now
from launcher.checks.preflight import LaunchRefusedError
from launcher.processes.exit_messages import log_tail
from launcher.processes.process import look_at
from launcher.runs.supervised_runs.run_recorders import LOG, is_recorder_open, newest_recorder
from redaction import SERVER_API_KEY
from web import audit
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.kept import fold
from web.markup import markdown_text
from web.runs.loads.server_key import ask_key
from web.theme import duration
from workloads.recording.access import TOKEN_BYTES
from workloads.recording.recorder_job import (
    MOST_MINUTES,
    RECORDER_TOKEN,
    RecorderAsk,
    RecorderStatus,
    prepare_recorder,
    read_status,
)

LOOK_S = 2.0
LISTENS_WITHIN_S = 20.0
IS_OPEN = "A recorder is open before this server: it measures the requests that other clients send through it."
ABOUT = (
    "Off until you open it. It listens on this machine alone, passes requests on to this server and measures them; "
    "they are stored as a load of this run."
)


def recorder_panel(run: Run) -> None:
    """Show the recorder of a run whose server answers, or that still has one."""
    if run.state.is_final or run.kind == "imported":
        return
    if not is_operator():
        st.fragment(_seen_by_others, run_every=LOOK_S)(run)
        return
    if run.state in (RunState.READY, RunState.RUNNING):
        with fold("Record what other clients send", "recorder", "run", ":material/fiber_manual_record:"):
            st.caption(ABOUT)
            st.fragment(_state, run_every=LOOK_S)(run)


def _seen_by_others(run: Run) -> None:
    if (folder := _folder(run)) and is_recorder_open(folder):
        st.caption(IS_OPEN)


def _folder(run: Run) -> Path | None:
    """The newest word of it: that of an attached run is made with its first load or recorder."""
    stored = services().store.run(run.id)
    return Path(stored.run_dir) if stored and stored.run_dir else None


def _state(run: Run) -> None:
    """How the newest one is, and the button that fits."""
    folder = _folder(run)
    own = newest_recorder(folder) if folder else None
    is_open = own is not None and look_at(own).state in ("starting", "alive")
    if own:
        st.markdown(_open_words(read_status(own)) if is_open else _closed_words(own))
    if is_open:
        st.button("Close the recorder", key=f"close-recorder-{run.id}", on_click=Once(_close), args=(run.id,))
    elif st.button("Open a recorder", key=f"open-recorder-{run.id}"):
        _dialog(run)


def _open_words(status: RecorderStatus | None) -> str:
    if status is None:
        return "The recorder is being opened."
    left_s = max(0.0, (status.expires_at - utc_now()).total_seconds())
    text = "Text is kept" if status.keeps_text else "No text is kept"
    return (
        f"**Open** at `{status.base_url}`, {_requests(status)} so far. It closes itself in {duration(left_s)}. {text}. "
        "Its key was shown when it was opened."
    )


def _closed_words(own: Path) -> str:
    status = read_status(own)
    if status is None:
        said = next(reversed(log_tail(own / LOG)), "")
        return markdown_text(f"The last one could not be opened. {said}")
    return f"Closed. The last one recorded {_requests(status)} as load `{status.load_id}`."


def _requests(status: RecorderStatus) -> str:
    return "1 request" if status.requests == 1 else f"{status.requests:,} requests"


@st.dialog("Open a recorder", width="medium", on_dismiss="rerun")
def _dialog(run: Run) -> None:
    with st.form("recorder", border=False):
        minutes = st.number_input("Minutes until it closes itself", 1, MOST_MINUTES, 60)
        keeps_text = st.checkbox("Keep what is said, to replay it as sessions (60 MiB at most, readable by you alone)")
        typed = ask_key(run, "recorder-key")
        pressed = st.form_submit_button("Open it", type="primary")
    if pressed:
        _open(run, RecorderAsk(minutes=minutes, keeps_text=keeps_text), typed)


def _open(run: Run, ask: RecorderAsk, typed: Mapping[str, str]) -> None:
    """Start it and show its address and its key, this once; for the operator only."""
    require_operator()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    known = services().supervisor.api_key(run.id)
    given = {RECORDER_TOKEN: token, **({SERVER_API_KEY: known} if known else {}), **typed}
    try:
        own = services().supervisor.recorders.open(run.id, partial(prepare_recorder, ask=ask), given)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("open a recorder", [run.id], "text is kept" if ask.keeps_text else "")
    status = _listening(own)
    if status is None:
        st.error(_closed_words(own))
        return
    st.markdown("Base URL for clients, in place of the server's")
    st.code(status.base_url, language=None)
    st.markdown("API key for clients")
    st.code(token, language=None)
    st.caption("Copy it now: Pitwall does not keep it. It is good for this recording alone.")


def _listening(own: Path) -> RecorderStatus | None:
    """Once it listens; None where it did not come to that."""
    ends_s = time.monotonic() + LISTENS_WITHIN_S
    while (status := read_status(own)) is None and time.monotonic() < ends_s:
        if look_at(own).state == "ended":
            return read_status(own)
        time.sleep(0.05)
    return status


def _close(run_id: str) -> None:
    require_operator()
    report = services().supervisor.recorders.close(run_id)
    audit.record("close the recorder", [run_id], " ".join(report.leftovers))
