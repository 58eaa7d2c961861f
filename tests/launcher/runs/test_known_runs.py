"""Queries of an action on one run do not grow with the stored runs. Counted in rows."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from collectors.imports.log_import import ImportOptions, LogImporter
from collectors.imports.result_import import ResultImporter
from commands.naming import COLOR_COUNT, RunNaming
from domain import Config, Run, RunState, WorkloadSpec
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.collectors.imports.captured import captured
from tests.launcher.servers import request_for

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LOAD = WorkloadSpec(name="five-prompts")
LOG = Path(__file__).resolve().parents[2] / "fixtures/vllm/0.32-ngram.log"


def ended(number: int, **fields: Any) -> Run:
    at = NOW + timedelta(minutes=number)
    given_fields = {"state": RunState.FINISHED, "color": number % COLOR_COUNT, "created_at": at, **fields}
    return Run(id=f"run-{number:05d}", name=f"older {number}", config=Config(), machine_id="m", **given_fields)


class Asking:
    """A store with so many ended runs, and how many rows it was made to give."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder, self.rows = store, folder, 0
        self.supervisor = Supervisor(store, folder / "runs", events=lambda batch: None, machine="m")

    def counted(self, patch: pytest.MonkeyPatch) -> None:
        ask = self.store.query

        def query(sql: str, params: Any = None) -> pa.Table:
            table = ask(sql, params)
            self.rows += table.num_rows
            return table

        patch.setattr(self.store, "query", query)


@contextmanager
def asking(folder: Path, runs: int) -> Iterator[Asking]:
    store = Store.open(Settings(data_dir=folder / "data"))
    try:
        for number in range(runs):
            store.save_run(ended(number))
        asking = Asking(store, folder)
        yield asking
        asking.supervisor.close()
    finally:
        store.close()


def queued(asking: Asking) -> list[Run]:
    return asking.supervisor.launch_batch([request_for(workload=LOAD)] * 2, one_after_the_other=True)


def repeat(asking: Asking) -> list[Run]:
    first = asking.supervisor.cancel(queued(asking)[0].id)
    return asking.supervisor.repeat(first.id, 2)


def attach(asking: Asking) -> list[Run]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return [asking.supervisor.attach(f"http://127.0.0.1:{listening.getsockname()[1]}", Config())]


def log(asking: Asking) -> list[Run]:
    log = LogImporter(asking.store, asking.folder / "runs", lambda: NOW).import_log(
        LOG, ImportOptions(LOG.name), lambda share: None
    )
    return asking.store.runs_of(log.run_ids)


def results(asking: Asking) -> list[Run]:
    path = captured("llama-benchy/result.csv")
    results = ResultImporter(asking.store, lambda: NOW).import_results(
        path, ImportOptions(path.name), lambda share: None
    )
    return asking.store.runs_of(results.run_ids)


ACTIONS: dict[str, Callable[[Asking], list[Run]]] = {
    "launch": queued,
    "repeat": repeat,
    "attach": attach,
    "log": log,
    "results": results,
}


@pytest.mark.parametrize("name", ACTIONS)
def test_action_cost_is_constant_among_more_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for runs in (COLOR_COUNT, 5 * COLOR_COUNT):
        with asking(tmp_path / str(runs), runs) as given_asking, monkeypatch.context() as patch:
            given_asking.counted(patch)
            assert ACTIONS[name](given_asking)
            rows.append(given_asking.rows)
    assert rows[0] == rows[1] > 0


def test_name_is_distinct_and_numbered_on(tmp_path: Path) -> None:
    with asking(tmp_path, 3 * COLOR_COUNT) as given_asking:
        names = ("older 1 (2)", "older 1 (4)", "older 1x", "Older 1")
        for number, name in enumerate(names, start=500):
            given_asking.store.save_run(ended(number).model_copy(update={"name": name}))
        run_naming = RunNaming(given_asking.store)
        assert sorted(given_asking.store.names_like(["older 1"])) == ["older 1", "older 1 (2)", "older 1 (4)"]
        assert run_naming.choose_name(Config(), "older 1") == "older 1 (3)"
        run_naming.add(ended(600).model_copy(update={"name": "older 1 (3)"}))
        assert run_naming.choose_name(Config(), " older 1 ") == "older 1 (5)"
        assert run_naming.choose_name(Config(), "new") == "new"


def test_colour_differs_from_live_and_latest_runs(tmp_path: Path) -> None:
    with asking(tmp_path, 3 * COLOR_COUNT) as given_asking:
        assert RunNaming(given_asking.store).choose_color(Config()) == 0, "1 to 7 are the latest"
        given_asking.store.save_run(ended(0, state=RunState.RUNNING))
        run_naming = RunNaming(given_asking.store)
        assert [run.id for run in run_naming.live] == ["run-00000"]
        assert run_naming.choose_color(Config()) == 1, "all are taken, and the least recent of the latest gives its own"
        run_naming.add(ended(700, color=7))
        assert run_naming.choose_color(Config()) == 1, "the eighth of the latest is no more among them"


def test_equal_settings_share_a_colour_at_any_address(tmp_path: Path) -> None:
    with asking(tmp_path, 2) as given_asking:
        arm = Config(engine="vllm", model="org/m", port=8000, kv_cache_dtype="fp8")
        given_asking.store.save_run(ended(600, color=6).model_copy(update={"config": arm}))
        naming = RunNaming(given_asking.store)
        assert naming.choose_color(arm.model_copy(update={"port": 9000})) == 6
        assert naming.choose_color(arm.model_copy(update={"kv_cache_dtype": "auto"})) != 6
        given_asking.store.save_run(ended(601, color=5).model_copy(update={"config": Config(engine="vllm")}))
        assert RunNaming(given_asking.store).choose_color(Config(engine="vllm")) != 5, "neither says what it serves"


def test_known_log_belongs_to_its_newest_run(tmp_path: Path) -> None:
    with asking(tmp_path, 2) as given_asking:
        for number in (5, 6):
            given_asking.store.save_run(ended(number, log_path=str(LOG)))
        (run,) = log(given_asking)
        assert run.id == "run-00006"
        assert list(given_asking.store.log_paths()) == ["run-00006", "run-00005"]
