"""Streamlit's session when a fragment's timer fires as the page's script ends: no event of the page is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
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
def correct(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """The correction, with fake runners; taken back at the end."""

    def start(session: Any, rerun_data: RerunData) -> None:
        session._scriptrunner = Runner(is_running=True)
        session._scriptrunner.request_rerun(rerun_data)

    original = AppSession._create_scriptrunner
    AppSession._create_scriptrunner = start  # type: ignore[method-assign,assignment]
    monkeypatch.setattr(script_events, "_start_runner", start)
    yield script_events.keep_script_events
    AppSession._create_scriptrunner = original  # type: ignore[method-assign]


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


async def fragment_after_the_page(*, times: int = 1, is_shut_down: bool = False) -> Any:
    """A session whose page's runner has sent an element and stopped when the fragment's requests come."""
    runner = Runner(is_running=False)
    session: Any = Session(runner)
    session._on_scriptrunner_event(runner, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, "the table")
    for _ in range(times):
        session.request_rerun(FRAGMENT)
    if is_shut_down:
        session._state = AppSessionState.SHUTDOWN_REQUESTED
    for _ in range(4):
        await asyncio.sleep(0)
    return session


def test_streamlit_alone_drops_the_page(correct: Callable[[], None]) -> None:
    """If this fails, Streamlit has mended it and `web/server/script_events.py` can go."""
    assert asyncio.run(fragment_after_the_page()).sent == []


def test_the_page_is_sent_before_the_fragment_runs(correct: Callable[[], None]) -> None:
    correct()
    session = asyncio.run(fragment_after_the_page())
    assert session.sent == ["the table"]
    assert [request.fragment_id for request in session._scriptrunner.requests] == ["timer"]


def test_one_runner_starts_for_several_fragments(correct: Callable[[], None]) -> None:
    correct()
    session = asyncio.run(fragment_after_the_page(times=3))
    assert session.sent == ["the table"] and len(session._scriptrunner.requests) == 3


def test_no_runner_starts_in_a_closed_session(correct: Callable[[], None]) -> None:
    correct()
    session = asyncio.run(fragment_after_the_page(is_shut_down=True))
    assert session._scriptrunner.requests == []


def test_a_page_starts_at_once(correct: Callable[[], None]) -> None:
    correct()

    async def requested() -> list[RerunData]:
        session: Any = Session(Runner(is_running=False))
        session.request_rerun(ClientState(query_string="order=stream"))
        requests: list[RerunData] = session._scriptrunner.requests
        return requests

    assert [request.query_string for request in asyncio.run(requested())] == ["order=stream"]
