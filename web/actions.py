"""Permission checks for actions on pages, one-shot buttons, and the buttons that stop runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, ParamSpec

import streamlit as st

from domain import Run
from launcher.checks.launch_request import LaunchRefusedError
from web import audit
from web.access.roles import EDITORS, MEMBERS, current_role
from web.context import services
from web.markup import markdown_text

Args = ParamSpec("Args")
# What follows, and the button that does it.
STARTED = "Its server ends, and the load on it. Its measurements so far are kept.", "Stop it now"
UNSTARTED = "It leaves the queue and is listed as cancelled.", "Cancel it"


def is_operator() -> bool:
    """Whether the viewer may do everything, such as start and stop servers; decided by the access check."""
    return current_role() == "operator"


def is_editor() -> bool:
    """Whether the viewer may write notes, tags and views and put loads on servers; true for the operator."""
    return current_role() in EDITORS


def is_member() -> bool:
    """Whether the viewer sees every run, as the operator, editors and viewers do; a guest does not."""
    return current_role() in MEMBERS


def require_operator() -> None:
    """Raise PermissionError unless the viewer is the operator, whatever the page showed."""
    if not is_operator():
        raise PermissionError("Only the operator may do this.")


def require_editor() -> None:
    """Raise PermissionError unless the viewer is an editor or the operator."""
    if not is_editor():
        raise PermissionError("Only the operator and editors may do this.")


def require_member() -> None:
    """Raise PermissionError unless the viewer is a member of the team."""
    if not is_member():
        raise PermissionError("A guest of a shared link may not do this.")


class Once(Generic[Args]):
    """An action that runs once per rendered button.

    Streamlit runs a press and the timer of a fragment in two threads that share the widget state, and sometimes both
    see the press. The second waits for the first, and runs the action only if the first failed.
    """

    def __init__(self, act: Callable[Args, None]) -> None:
        self._act = act
        self._turn = threading.Lock()
        self._is_done = False

    def __call__(self, *args: Args.args, **kwargs: Args.kwargs) -> None:
        with self._turn:
            if not self._is_done:
                self._act(*args, **kwargs)
                self._is_done = True


@contextmanager
def refusal_as_toast() -> Iterator[None]:
    """Show the launcher's refusal as a toast, such as while the store does not answer."""
    try:
        yield
    except LaunchRefusedError as refusal:
        st.toast(markdown_text(str(refusal)), icon=":material/error:")


def confirmed_button(
    label: str, consequence: str, confirmation: str, key: str, act: Callable[..., None], *args: object
) -> None:
    """A button that asks first: it opens a popover that says what follows, with the button that acts, `key`."""
    with st.popover(label, key=f"{key}-asks"):
        st.markdown(consequence)
        st.button(confirmation, key=key, on_click=Once(act), args=args, type="primary")


def stop_buttons(runs: Sequence[Run]) -> None:
    """One button per run that can be ended: stop a launched one, stop watching another; several are in a popover."""
    stoppable = [run for run in runs if not run.state.is_final]
    if not stoppable or not is_operator():
        return
    if len(stoppable) == 1 and stoppable[0].kind != "attached":
        (run,) = stoppable
        consequence, confirmation = STARTED if run.state.is_live else UNSTARTED
        confirmed_button(_stop_label(run), consequence, confirmation, f"stop-{run.id}", _stop, run.id)
        return
    with st.popover("Stop", key="stop-some") if len(stoppable) > 1 else st.container(width="content"):
        for run in stoppable:
            st.button(_stop_label(run), key=f"stop-{run.id}", on_click=Once(_stop), args=(run.id,))


def _stop_label(run: Run) -> str:
    verb = "Stop watching" if run.kind == "attached" else "Cancel" if run.state == "queued" else "Stop"
    return f"{verb} {markdown_text(run.name)}"


def _stop(run_id: str) -> None:
    require_operator()
    with refusal_as_toast():
        run = services().supervisor.stop(run_id)
        audit.record("cancel" if run.kind == "launched" and run.started_at is None else "stop", [run_id])
