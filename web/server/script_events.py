"""A correction of Streamlit's AppSession, which drops the end of a page if a fragment's timer fires as its script ends.

A fragment's request that finds the page's script runner stopped gets a new runner, and AppSession ignores events of any
other than its current one: those that the stopped runner has sent, but the event loop has not yet handled, get lost,
and the browser shows the old page below some point (a comment in AppSession.request_rerun of Streamlit 1.67 says so).
Here they are handled; the events of the new runner come after them.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, ScriptRunnerEvent

_start_runner = AppSession._create_scriptrunner
_handle_event = AppSession._handle_scriptrunner_event_on_event_loop
# Runners that a fragment's runner has replaced, until their last event. Only the event loop's thread uses it.
_replaced_runners = WeakKeyDictionary[AppSession, list[ScriptRunner]]()


def keep_script_events() -> None:
    """Make Streamlit's sessions handle all events of a page's script although a fragment's script has started."""
    AppSession._create_scriptrunner = _start_replacing_runner  # type: ignore[method-assign,assignment]
    AppSession._handle_scriptrunner_event_on_event_loop = _handle_runner_event  # type: ignore[method-assign,assignment]


def _start_replacing_runner(session: AppSession, initial_rerun_data: RerunData) -> None:
    if initial_rerun_data.fragment_id and session._scriptrunner is not None:
        _replaced_runners.setdefault(session, []).append(session._scriptrunner)
    else:
        _replaced_runners.pop(session, None)  # the page is drawn anew
    _start_runner(session, initial_rerun_data)


def _handle_runner_event(
    session: AppSession, sender: ScriptRunner | None, event: ScriptRunnerEvent, *details: Any, **named_details: Any
) -> None:
    replaced, current = _replaced_runners.get(session, []), session._scriptrunner
    if sender not in replaced or sender is None:
        _handle_event(session, sender, event, *details, **named_details)
    elif event is ScriptRunnerEvent.SHUTDOWN:
        replaced.remove(sender)
    else:
        session._scriptrunner = sender
        try:
            _handle_event(session, sender, event, *details, **named_details)
        finally:
            session._scriptrunner = current
