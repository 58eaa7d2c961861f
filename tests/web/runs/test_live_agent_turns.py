"""The newest turns of an agent on Live, while a recorder is open in front of its server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from domain import Config, Run, RunState
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.sessions.recorded_chats import BEGUN, HandMadeRecording, chat
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices

SECTION = """
from web.context import services
from web.runs.page.live_agent_turns import show_live_agent_turns

show_live_agent_turns(services().store.runs())
"""
RECORDERS = "web.runs.page.live_agent_turns.is_recorder_open"


@pytest.fixture
def recorded(store: Store, tmp_path: Path, settings: Settings, provide_services: ProvideServices) -> None:
    run = Run(
        id="r1", name="An agent", color=0, config=Config(engine="vllm"), machine_id="m", state=RunState.RUNNING,
        created_at=BEGUN, started_at=BEGUN, ready_at=BEGUN, run_dir=str(tmp_path),
    )  # fmt: skip
    store.save_run(run)
    recording = HandMadeRecording("r1")
    recording.add(chat("a", "b", "c"), 1000, 0)
    recording.add(chat("a", "b", "c", "d", system="2" + "s" * 400), 1200, 0)
    store.write(Batch(tuple(replace(row, run_id="r1") for row in recording.rows))).result(30)
    provide_services(SimpleNamespace(store=store, settings=settings, fleet=None))


def test_newest_turn_is_first_below_the_causes(recorded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RECORDERS, lambda directory: True)
    at = script_at(SECTION, fold="agents")
    (html,) = (str(element.proto.body) for element in at.get("html"))
    assert "System block 1 of 1 changed" in html and html.index("1.1.2") < html.index("1.1.1")
    assert [section.label for section in script_at(SECTION).expander] == ["Agent sessions"]


def test_without_a_recorder_there_is_no_section(recorded: None) -> None:
    assert not script_at(SECTION, fold="agents").expander
