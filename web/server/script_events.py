"""A correction of Streamlit's AppSession, which drops the end of a page if a fragment's timer fires as its script ends.

A fragment's request that finds the page's script runner stopped gets a new runner, and AppSession ignores events of any
other than its current one: those that the stopped runner has sent, but the event loop has not yet handled, are lost,
and the browser shows the old page below some point (a comment in AppSession.request_rerun of Streamlit 1.67 says so).
Here the new runner starts after those events.
"""

from __future__ import annotations

from functools import partial

from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner import RerunData

_start_runner = AppSession._create_scriptrunner


def keep_script_events() -> None:
    """Make Streamlit's sessions handle all events of a page's script before a fragment's script starts."""
    AppSession._create_scriptrunner = _start_runner_after_events  # type: ignore[method-assign,assignment]


def _start_runner_after_events(session: AppSession, initial_rerun_data: RerunData) -> None:
    if session._scriptrunner is None or not initial_rerun_data.fragment_id:
        _start_runner(session, initial_rerun_data)
        return
    # The runner stops after it has sent its events, and the loop handles them in the order in which they were sent.
    session._event_loop.call_soon(partial(_request_fragment, session, session._scriptrunner, initial_rerun_data))


def _request_fragment(session: AppSession, stopped_runner: object, rerun_data: RerunData) -> None:
    runner = session._scriptrunner
    if session._state is AppSessionState.SHUTDOWN_REQUESTED:
        return
    if runner is None or runner is stopped_runner:
        _start_runner(session, rerun_data)
    elif not runner.request_rerun(rerun_data):
        _start_runner_after_events(session, rerun_data)
