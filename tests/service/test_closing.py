"""Whatever was opened is closed in reverse, also after an error half-way, and when a part cannot be closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from domain import RunState
from launcher.runs.supervisor import Supervisor
from service.core import Core, opened_core
from settings import Settings
from storage.store import Store
from tests.launcher.servers import marked, request_for, wait_for, wait_for_state
from tests.ports import free_ports
from tests.service.parts import CORE, Part, Recorded
from tests.wide import wide_params

pytestmark = pytest.mark.publishes

ROOT = Path(__file__).resolve().parents[2]
NAMES = [part.name for part in CORE]
BY_THEMSELVES = {"this-machine"}  # threads that end when their one answer is there
BROKEN = "the disk has gone"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return Recorded(CORE, monkeypatch.setattr)


@pytest.fixture
def data(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@contextmanager
def no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    begun = [one for one in threading.enumerate() if one not in before and one.name not in BY_THEMSELVES]
    for thread in begun:
        thread.join(20)
    assert [one.name for one in begun if one.is_alive()] == []


def opened_and_closed(settings: Settings) -> None:
    with opened_core(settings):
        pass


def test_parts_close_in_reverse_of_opening(recorded: Recorded, data: Settings) -> None:
    with no_thread_stays():
        with opened_core(data) as core:
            run = core.supervisor.launch(request_for())
            wait_for_state(core.store, run.id, RunState.READY)
            wait_for(lambda: any(run.id in thread.name for thread in threading.enumerate()))
            assert recorded.opened == NAMES and recorded.closed == []
        assert recorded.closed == NAMES[::-1]
        for process in marked(run.id):
            process.kill()


@pytest.mark.parametrize("part", [CORE[0], CORE[-1], *wide_params(*CORE[1:-1])], ids=lambda part: part.name)
def test_failed_opening_closes_earlier_parts(
    part: Part, recorded: Recorded, data: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, no_thread_stays():
        patched.setattr(part.of, part.opens, broken)
        with pytest.raises(RuntimeError, match=BROKEN):
            opened_and_closed(data)
    assert recorded.opened == NAMES[: NAMES.index(part.name)]
    assert recorded.closed_of_opened() == recorded.opened[::-1]
    Store.open(data).close()


def test_failed_takeover_leaves_nothing_open(
    recorded: Recorded, data: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Supervisor, "adopt_all", broken)
    with no_thread_stays(), pytest.raises(RuntimeError, match=BROKEN):
        opened_and_closed(data)
    assert recorded.closed == ["Supervisor", "CollectorLoop", "Sealer", "Writer", "Publisher", "Database"]


@pytest.mark.parametrize("part", CORE, ids=lambda part: part.name)
def test_failed_close_is_reported_others_close(
    part: Part,
    recorded: Recorded,
    data: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as patched, no_thread_stays():
        patched.setattr(part.of, part.closes, breaking_after(getattr(part.of, part.closes)))
        opened_and_closed(data)
    assert recorded.closed == NAMES[::-1]
    (actual_record,) = [record for record in caplog.records if record.exc_info]
    assert "could not be closed" in actual_record.message
    assert actual_record.exc_info and BROKEN in str(actual_record.exc_info[1])


def test_two_failed_closes_are_both_reported(
    recorded: Recorded, data: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for part in (one for one in CORE if one.name in {"Inbox", "StudyRunner"}):
        monkeypatch.setattr(part.of, part.closes, breaking_after(getattr(part.of, part.closes)))
    opened_and_closed(data)
    words = [record.message.split(" could not")[0] for record in caplog.records if record.exc_info]
    assert words == ["the studies", "the inbox"]
    assert recorded.closed == NAMES[::-1]


def test_user_error_closes_all_and_is_raised(recorded: Recorded, data: Settings) -> None:
    def fail_while_used(core: Core) -> None:
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs"), opened_core(data) as core:
        fail_while_used(core)
    assert recorded.closed == NAMES[::-1]


WHOLE = """
import asyncio, json
import app
from service.fleet import Fleet
from tests.service.parts import CORE, Part, Recorded
from web.live.peers.relay import PeerRelay
from web.live.hub import LiveHub

async def lived():
    async with app.lifespan(app.app):
        pass

parts = (*CORE, Part(Fleet, "__init__"), *(Part(of, "__aenter__", "__aexit__") for of in (PeerRelay, LiveHub)))
recorded = Recorded(parts)
asyncio.run(lived())
print(json.dumps([[part.name for part in parts], recorded.opened, recorded.closed]))
"""


def test_whole_application_closes_in_reverse(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    environ = os.environ | {"PITWALL_DATA": str(tmp_path / "data"), "PITWALL_PORT": str(port)}
    command = [sys.executable, "-c", WHOLE]
    process = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=200)
    assert process.returncode == 0, process.stderr
    names, opened, closed = json.loads(process.stdout.splitlines()[-1])
    assert opened == names and closed == names[::-1]


def broken(*_: Any, **__: Any) -> None:
    raise RuntimeError(BROKEN)


def breaking_after(close: Any) -> Any:
    """It does all that it should, and then fails."""

    def closing(*args: Any, **kwargs: Any) -> None:
        close(*args, **kwargs)
        broken()

    return closing
