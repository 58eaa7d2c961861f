"""Streamlit's session when a fragment's timer fires as the page's script ends: no event of the page is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner.script_runner import ScriptRunnerEvent

from web.server import script_events

FRAGMENT = ClientState(fragment_id="timer", is_auto_rerun=True)


class Runner:
    """The fake of a script runner: it takes requests while it runs."""

    def __init__(self, is_running: bool) -> None:
        self.is_running = is_running
        self.requests: list[RerunData] = []

    def request_rerun(self, rerun_data: RerunData) -> bool:
        if self.is_running:
            self.requests.append(rerun_data)
        return self.is_running

    def request_stop(self) -> None:
        self.is_running = False


@pytest.fixture
def correct(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The correction, with fake runners; taken back at the end."""

    def start(session: Any, rerun_data: RerunData) -> None:
        session._scriptrunner = Runner(is_running=True)
        session._scriptrunner.request_rerun(rerun_data)

    for name in ("_create_scriptrunner", "_handle_scriptrunner_event_on_event_loop"):
        monkeypatch.setattr(AppSession, name, getattr(AppSession, name))
    monkeypatch.setattr(AppSession, "_create_scriptrunner", start)
    monkeypatch.setattr(script_events, "_start_runner", start)
    return script_events.keep_script_events


class Session(AppSession):
    """A session without its surroundings; it records what it sends to the browser."""

    def __init__(self, runner: Runner) -> None:
        self._scriptrunner = runner  # type: ignore[assignment]
        self._state = AppSessionState.APP_IS_RUNNING
        self._event_loop = asyncio.get_running_loop()
        self._client_state = ClientState()
        self._fragment_storage = Mock()
        self.sent: list[object] = []

    def __del__(self) -> None:
        """Nothing to shut down."""

    def _enqueue_forward_msg(self, msg: object) -> None:
        self.sent.append(msg)


async def session_after(*requests: ClientState) -> Any:
    """A session whose page's runner has sent an element and stopped when the requests come."""
    runner = Runner(is_running=False)
    session: Any = Session(runner)
    session._on_scriptrunner_event(runner, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, "the table")
    for request in requests:
        session.request_rerun(request)
    session._on_scriptrunner_event(runner, ScriptRunnerEvent.SHUTDOWN)
    session._on_scriptrunner_event(runner, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, "too late")
    await asyncio.sleep(0.01)
    return session


def requests_of(session: Any) -> list[tuple[str | None, str]]:
    return [(request.fragment_id, request.query_string) for request in session._scriptrunner.requests]


def test_streamlit_alone_drops_the_page(correct: Callable[[], None]) -> None:
    """If this fails, Streamlit has mended it and `web/server/script_events.py` can go."""
    assert asyncio.run(session_after(FRAGMENT)).sent == []


def test_the_page_is_sent_although_a_fragment_starts(correct: Callable[[], None]) -> None:
    correct()
    session = asyncio.run(session_after(FRAGMENT))
    assert session.sent == ["the table"] and requests_of(session) == [("timer", "")]


def test_the_page_is_sent_although_a_second_fragment_starts(correct: Callable[[], None]) -> None:
    """The first fragment's runner has stopped as well, and nothing that the two have sent is handled yet."""
    correct()

    async def both_stopped() -> Any:
        page = Runner(is_running=False)
        session: Any = Session(page)
        session._on_scriptrunner_event(page, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, "the table")
        session.request_rerun(FRAGMENT)
        first = session._scriptrunner
        first.request_stop()
        session._on_scriptrunner_event(first, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, "the status")
        session.request_rerun(FRAGMENT)
        await asyncio.sleep(0.01)
        return session

    assert asyncio.run(both_stopped()).sent == ["the table", "the status"]


def test_a_press_after_the_fragment_starts_the_page_anew(correct: Callable[[], None]) -> None:
    correct()
    session = asyncio.run(session_after(FRAGMENT, ClientState(query_string="order=stream")))
    assert session.sent == [] and requests_of(session) == [(None, "order=stream")]
