"""The load of a run: kept by a relaunch of it, and put anew on a server that runs, also on one that others started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Never

import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState, WorkloadSpec
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from tests.web.conftest import ProvideServices
from workloads.saved_loads import SavedLoad, SavedLoads

LADDER = WorkloadSpec(name="ladder", params={"tokens": 77, "temperature": 0.7})
RELAUNCH = """
import streamlit as st
from web.launch import draft, source_picker

source_picker.follow_address()
st.session_state["kept"] = draft.current().workload
"""
PANEL = """
from web.context import services
from web.loads.panels.load_panel import show_load_panel

show_load_panel(*services().store.runs())
"""


class Supervisor:
    """A FAKE: it keeps what it was asked to start."""

    def __init__(self) -> None:
        self.started: list[tuple[str, WorkloadSpec]] = []
        self.secrets: dict[str, str] = {}

    def start_load(self, run_id: str, spec: WorkloadSpec, secrets: Any = None) -> None:
        self.started.append((run_id, spec))
        self.secrets = dict(secrets or {})


@pytest.fixture
def services(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> Iterator[SimpleNamespace]:
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings)
    provided = SimpleNamespace(store=store, settings=settings, fleet=None, supervisor=Supervisor())
    provide_services(provided)
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    monkeypatch.setattr("web.audit.record", lambda *told: None)
    yield provided
    store.close()


def save(store: Store, **fields: Any) -> Run:
    config = Config(engine="vllm", argv=("vllm", "serve", "o/m"), model="o/m")
    run = Run(id="r1", name="first", color=0, config=config, machine_id="m", created_at=T0, **fields)
    store.save_run(run)
    return run


def test_the_form_is_filled_though_a_press_came_between(
    services: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(services.store, state=RunState.FINISHED, workload=LADDER)
    at = AppTest.from_string(RELAUNCH, default_timeout=60)
    at.query_params["run"] = "r1"
    with monkeypatch.context() as patch:
        patch.setattr("web.launch.draft.start_from_run", ended_by_a_press)
        at.run()
    assert at.run().session_state["kept"] == LADDER


def ended_by_a_press(_run: Run) -> Never:
    raise StopException


def test_relaunch_with_a_change_keeps_the_load(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.FINISHED, workload=LADDER)
    at = AppTest.from_string(RELAUNCH, default_timeout=60)
    at.query_params["run"] = "r1"
    at.run()
    assert not at.exception and at.session_state["kept"] == LADDER


@pytest.mark.parametrize("kind", ["attached", "launched"])
def test_a_load_is_put_on_a_server_that_runs(services: SimpleNamespace, kind: str) -> None:
    save(services.store, state=RunState.READY, kind=kind)
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception
    at.selectbox(key="load-of-r1").set_value("ladder").run()
    at.number_input(key="load-of-r1-ladder-ladder-temperature").set_value(0.7).run()
    at.button(key="start-load").click().run()
    assert not at.exception
    ((run_id, spec),) = services.supervisor.started
    assert (run_id, spec.name, spec.params["temperature"]) == ("r1", "ladder", 0.7)


def test_editor_starts_loads_without_file_access(
    services: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planning reads the file that a load names: its sentences would tell an editor what lies on this machine."""
    secret = tmp_path / "secret.jsonl"
    secret.write_text("{not json of ours\n")
    save(services.store, state=RunState.READY, kind="launched")
    loads = SavedLoads(services.settings.loads_dir)
    loads.save("theirs", SavedLoad(workload="session", params={"file": str(secret)}))
    monkeypatch.setattr("web.actions.current_role", lambda: "editor")
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception and "by-r1" not in {segmented_control.key for segmented_control in at.segmented_control}
    at.selectbox(key="load-of-r1").set_value("Saved: theirs").run()
    assert not at.exception and not [text_input for text_input in at.text_input if "file" in (text_input.key or "")]
    assert [error.value for error in at.error] == [
        "Only the operator may use a file on this machine; this load runs without it."
    ]
    at.selectbox(key="load-of-r1").set_value("ladder").run()
    at.button(key="start-load").click().run()
    assert not at.exception and [spec.name for _, spec in services.supervisor.started] == ["ladder"]


def test_a_viewer_puts_no_load(services: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    save(services.store, state=RunState.READY, kind="launched")
    monkeypatch.setattr("web.actions.current_role", lambda: "viewer")
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception and not at.button and not at.expander


def test_pipe_among_kept_loads_is_not_awaited(tmp_path: Path) -> None:
    SavedLoads(tmp_path).save("kept", SavedLoad(workload="ladder"))
    os.mkfifo(tmp_path / "pipe.json")
    assert list(SavedLoads(tmp_path).all()) == ["kept"]


def test_a_kept_file_that_is_gone_is_a_sentence(services: SimpleNamespace, tmp_path: Path) -> None:
    save(services.store, state=RunState.READY, kind="launched")
    saved_load = SavedLoad(workload="session", params={"file": str(tmp_path / "gone.jsonl")})
    SavedLoads(services.settings.loads_dir).save("gone", saved_load)
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    at.selectbox(key="load-of-r1").set_value("Saved: gone").run()
    assert not at.exception and all("gone" in error.value for error in at.error) and at.error
    assert at.button(key="start-load").disabled
