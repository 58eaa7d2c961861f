"""Who may act on a page, and stopping a run; each act is refused to whoever may not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, ParamSpec

import streamlit as st

from domain import Run
from launcher.checks.preflight import LaunchRefusedError
from web import audit
from web.access.roles import EDITORS, MEMBERS, current_role
from web.context import services
from web.markup import markdown_text

Args = ParamSpec("Args")


def is_operator() -> bool:
    """Whether this person may do everything, such as start and stop servers; the access check decides, not the page."""
    return current_role() == "operator"


def is_editor() -> bool:
    """Whether this person may write notes, tags and views and put loads on servers; the operator may."""
    return current_role() in EDITORS


def is_member() -> bool:
    """Whether this person sees every run, as the operator, editors and viewers do; a guest of a link does not."""
    return current_role() in MEMBERS


def require_operator() -> None:
    """Stop an action here, whatever the page showed."""
    if not is_operator():
        raise PermissionError("Only the operator may do this.")


def require_editor() -> None:
    """Likewise, for what editors may do too."""
    if not is_editor():
        raise PermissionError("Only the operator and editors may do this.")


def require_member() -> None:
    """Likewise, for what every member of the team may do."""
    if not is_member():
        raise PermissionError("A guest of a link may not do this.")


class Once(Generic[Args]):
    """What one press of a button does, and not again before the button is drawn anew.

    Streamlit runs a press and the tick of a fragment in two threads that share what was pressed: now and then both find
    the press. The second one waits for the first, and tries it where that failed.
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
    """Say why the launcher refuses what a button asks for, such as while the store does not answer."""
    try:
        yield
    except LaunchRefusedError as refusal:
        st.toast(markdown_text(str(refusal)), icon=":material/error:")


def stop_buttons(runs: Sequence[Run]) -> None:
    """One button a run that can be ended: stopped if we launched it, let go if we only watch; several behind one."""
    stoppable = [run for run in runs if not run.state.is_final]
    if not stoppable or not is_operator():
        return
    with st.popover("Stop", key="stop-some") if len(stoppable) > 1 else st.container(width="content"):
        for run in stoppable:
            word = "Stop watching" if run.kind == "attached" else "Cancel" if run.state == "queued" else "Stop"
            st.button(f"{word} {markdown_text(run.name)}", key=f"stop-{run.id}", on_click=Once(_stop), args=(run.id,))


def _stop(run_id: str) -> None:
    require_operator()
    with refusal_as_toast():
        run = services().supervisor.stop(run_id)
        audit.record("cancel" if run.kind == "launched" and run.started_at is None else "stop", [run_id])
