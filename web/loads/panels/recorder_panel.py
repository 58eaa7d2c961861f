"""The recorder panel of a run, which the operator opens, watches and closes; others see that a recorder is open."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from domain import Run, RunState, utc_now
from launcher.checks.launch_request import LaunchRefusedError
from launcher.client_processes import newest_recorder
from launcher.processes.exit_messages import log_tail
from launcher.processes.process import process_status
from launcher.runs.supervised_runs.run_recorders import LOG, is_recorder_open
from redaction import SERVER_API_KEY
from web import audit
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.loads.panels.server_key import ask_key
from web.markup import markdown_text
from web.theme import duration
from web.url_state import url_expander
from workloads.recording.access import TOKEN_BYTES
from workloads.recording.recorder_job import (
    MAX_MINUTES,
    RECORDER_TOKEN,
    RecorderOptions,
    RecorderStatus,
    prepare_recorder,
    read_status,
)

LOOK_S = 2.0
LISTENS_WITHIN_S = 20.0
IS_OPEN = "A recorder is open in front of this server: it measures the requests that other clients send through it."
ABOUT = (
    "Off until you open it. It listens only on this machine, forwards requests to this server and measures them; "
    "they are stored as a load of this run."
)


def show_recorder_panel(run: Run) -> None:
    """Show the recorder of a run whose server responds; others see only whether one is open."""
    if run.state.is_final or run.kind == "imported":
        return
    if not is_operator():
        st.fragment(_show_open_note, run_every=LOOK_S)(run)
        return
    if run.state in (RunState.READY, RunState.RUNNING):
        with url_expander("Record what other clients send", "recorder", "run", ":material/fiber_manual_record:"):
            st.caption(ABOUT)
            st.fragment(_show_state, run_every=LOOK_S)(run)


def _show_open_note(run: Run) -> None:
    if (folder := _folder(run)) and is_recorder_open(folder):
        st.caption(IS_OPEN)


def _folder(run: Run) -> Path | None:
    """Return the run's current folder: an attached run's is created with its first load or recorder."""
    stored = services().store.run(run.id)
    return Path(stored.run_dir) if stored and stored.run_dir else None


def _show_state(run: Run) -> None:
    """Show the state of the newest recorder, and the button to open or close one."""
    folder = _folder(run)
    recorder = newest_recorder(folder) if folder else None
    is_open = recorder is not None and process_status(recorder).state in ("starting", "alive")
    if recorder:
        st.markdown(_open_text(read_status(recorder)) if is_open else _closed_text(recorder))
    if is_open:
        st.button("Close the recorder", key=f"close-recorder-{run.id}", on_click=Once(_close), args=(run.id,))
    elif st.button("Open a recorder", key=f"open-recorder-{run.id}"):
        _dialog(run)


def _open_text(status: RecorderStatus | None) -> str:
    if status is None:
        return "The recorder is opening."
    left_s = max(0.0, (status.expires_at - utc_now()).total_seconds())
    text = "Text is saved" if status.keeps_text else "No text is saved"
    return (
        f"**Open** at `{status.base_url}`, {_requests(status)} so far. It closes automatically in {duration(left_s)}. "
        f"{text}. Its key was shown when it was opened."
    )


def _closed_text(recorder: Path) -> str:
    status = read_status(recorder)
    if status is None:
        last_line = next(reversed(log_tail(recorder / LOG)), "")
        return markdown_text(f"The last recorder could not be opened. {last_line}")
    return f"Closed. The last recorder stored {_requests(status)} as load `{status.load_id}`."


def _requests(status: RecorderStatus) -> str:
    return "1 request" if status.requests == 1 else f"{status.requests:,} requests"


@st.dialog("Open a recorder", width="medium", on_dismiss="rerun")
def _dialog(run: Run) -> None:
    with st.form("recorder", border=False):
        minutes = st.number_input("Minutes until it closes", 1, MAX_MINUTES, 60)
        keeps_text = st.checkbox("Save the text to replay it as sessions (at most 60 MiB, readable only by you)")
        typed_key = ask_key(run, "recorder-key")
        pressed = st.form_submit_button("Open it", type="primary")
    if pressed:
        _open(run, RecorderOptions(minutes=minutes, keeps_text=keeps_text), typed_key)


def _open(run: Run, ask: RecorderOptions, typed_key: Mapping[str, str]) -> None:
    """Open a recorder and show its address and its key, only this once; only for the operator."""
    require_operator()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    api_key = services().supervisor.api_key(run.id)
    environment = {RECORDER_TOKEN: token, **({SERVER_API_KEY: api_key} if api_key else {}), **typed_key}
    try:
        recorder = services().supervisor.request_recorders.open(run.id, partial(prepare_recorder, ask=ask), environment)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("open a recorder", [run.id], "text is kept" if ask.keeps_text else "")
    status = _wait_until_listening(recorder)
    if status is None:
        st.error(_closed_text(recorder))
        return
    st.markdown("Base URL for clients, instead of the server's")
    st.code(status.base_url, language=None)
    st.markdown("API key for clients")
    st.code(token, language=None)
    st.caption("Copy it now: Pitwall does not store it. It is valid only for this recording.")


def _wait_until_listening(recorder: Path) -> RecorderStatus | None:
    """Return the recorder's status once it listens, None if it does not within the limit."""
    ends_s = time.monotonic() + LISTENS_WITHIN_S
    while (status := read_status(recorder)) is None and time.monotonic() < ends_s:
        if process_status(recorder).state == "ended":
            return read_status(recorder)
        time.sleep(0.05)
    return status


def _close(run_id: str) -> None:
    require_operator()
    report = services().supervisor.request_recorders.close(run_id)
    audit.record("close the recorder", [run_id], " ".join(report.leftovers))
