"""The line for an agent on the machine of a run that ssh started: who is offered it, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, RunState
from launcher.remote.agent_line import SERVER
from launcher.remote.hosts import Host, HostBook
from machine.identity import machine_id
from samples import Batch, Event, HostSample
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
RUN = Run(
    id="r1", name="fp8", color=0, machine_id="there", created_at=NOW, started_at=NOW, state=RunState.READY,
    config=Config(), provenance={"on_host": "gpu-box"},
)  # fmt: skip
PANEL = """
from web.context import services
from web.runs.page.agent_offer import agent_offer

agent_offer(services().store.run("r1"))
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    HostBook(settings.hosts_path).add(Host(label="gpu-box", target="me@gpu-box"))
    opened.save_run(RUN)
    opened.write(Batch((Event("r1", NOW, "state", SERVER.format(42, "gpu-box")),))).result()
    provide_services(SimpleNamespace(store=opened, settings=settings))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    yield opened
    opened.close()


def offered() -> list[str]:
    at = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not at.exception, at.exception
    return [code.value for code in at.code]


def test_operator_is_offered_the_agent_command(store: Store) -> None:
    (line,) = offered()
    assert "--run r1" in line and "--pid 42" in line and "me@gpu-box" in line


def test_offer_ends_once_an_agent_sends(store: Store) -> None:
    sample = HostSample("r1", NOW, 0.0, "there", cpu_ratio=0.5, clock_offset_s=0.0)
    store.write(Batch((sample,))).result()
    assert offered() == []


@pytest.mark.parametrize(
    "changes",
    [{"state": RunState.FINISHED, "ended_at": NOW}, {"provenance": {}}, {"machine_id": machine_id()}],
    ids=["ended", "no host", "this machine"],
)
def test_runs_that_need_none_offer_none(store: Store, changes: dict[str, object]) -> None:
    store.save_run(RUN.model_copy(update=changes))
    assert offered() == []


def test_nobody_else_is_offered_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "editor")
    assert offered() == []
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    HostBook(store_settings(store).hosts_path).remove("gpu-box")
    assert offered() == []


def store_settings(store: Store) -> Settings:
    from web.context import services

    assert services().store is store
    return services().settings
