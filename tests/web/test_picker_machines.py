"""The picker of runs tells and filters by machines, where there are several; asked by AppTest of a real store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config, Run, utc_now
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices

PAGE = """
from web.context import services
from web.picker import pick_runs
pick_runs(services().store.runs(limit=50), [], "Runs", key="live-runs")
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    provide_services(SimpleNamespace(store=opened, fleet=None))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    yield opened
    opened.close()


def keep(store: Store, name: str, machine: str) -> None:
    store.save_run(
        Run(id=name, name=name, color=0, machine_id=machine, created_at=utc_now(), config=Config(engine="vllm"))
    )


def picker(machines: list[str], runs: list[str]) -> AppTest:
    at = AppTest.from_string(PAGE, default_timeout=60)
    at.query_params["run"] = runs
    if machines:
        at.query_params["machine"] = machines
    at.run()
    assert not at.exception
    return at


def test_of_one_machine_nothing_is_said(store: Store) -> None:
    keep(store, "a", "m1")
    at = picker([], ["a"])
    assert [multiselect.label for multiselect in at.multiselect] == ["Runs"]
    assert "m1" not in at.multiselect[0].options[0]


def test_several_machines_named_and_searchable(store: Store) -> None:
    keep(store, "a", "m1")
    keep(store, "b", "m2")
    filters, runs = picker([], ["a"]).multiselect
    assert (filters.label, sorted(filters.options)) == ("Machine", ["m1", "m2"])
    assert sorted(line.split(" – ")[::2] for line in map(str, runs.options)) == [["a", "m1"], ["b", "m2"]]


def test_filter_in_address_keeps_picked_runs(store: Store) -> None:
    for name, machine in (("a", "m1"), ("b", "m2"), ("c", "m2"), ("d", "m3")):
        keep(store, name, machine)
    at = picker(["m2"], ["a"])
    assert at.multiselect[0].value == ["m2"]
    assert sorted(line[0] for line in at.multiselect[1].options) == ["a", "b", "c"]
    at.multiselect[0].set_value(["m3"]).run()
    assert (at.query_params["machine"], at.query_params["run"]) == ("m3", "a")
    assert sorted(line[0] for line in at.multiselect[1].options) == ["a", "d"]


def test_lake_describes_a_lake_only_machine(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> None:
    """The lake is another store here, which answers as it does."""
    lake = Store.open(Settings(data_dir=tmp_path / "lake"))
    fleet = SimpleNamespace(is_configured=True, query=lake.query, runs=lake.runs)
    provide_services(SimpleNamespace(store=store, fleet=fleet))
    monkeypatch.setattr("web.fleet.is_operator", lambda: True)
    keep(store, "a", "m1")
    keep(lake, "b", "m2")
    page = PAGE.replace("runs(limit=50)", "runs(limit=50) + services().fleet.runs(limit=50)")
    at = AppTest.from_string(page, default_timeout=60).run()
    lake.close()
    assert not at.exception
    filters, runs = at.multiselect
    assert sorted(filters.options) == ["m1", "m2"]
    assert sorted(line.split(" – ")[::2] for line in map(str, runs.options)) == [["a", "m1"], ["b", "m2"]]


def test_deleted_run_does_not_break_the_picker(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        keep(store, name, "m1")
    at = picker([], ["a", "b"])
    at.multiselect[0].set_value(["a", "c"]).run()
    runs = [run for run in store.runs() if run.id != "b"]
    monkeypatch.setattr(store, "runs", lambda limit: runs)
    at.run()
    assert not at.exception and at.multiselect[0].value == ["a", "c"]
