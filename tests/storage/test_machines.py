"""Machines as the store tells them: by the Pitwall on them, by what a run noted, by a person's label."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta

from domain import Config, Machine, Run, RunState
from machine.identity import machine_at
from samples import Batch, GpuSample, HostSample
from service.this_machine import record_this_machine, this_machine
from settings import Settings
from storage.published_query import published_query
from storage.queries.machine_queries import machines
from storage.queries.run_queries import RunFilter, find_runs, run_choices
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
GPU = {"index": 0, "uuid": "GPU-1", "name": "NVIDIA GB10", "memory_total_bytes": 128 << 30, "memory_kind": "unified"}


def run_on(store: Store, run_id: str, machine_id: str, **fields: object) -> Run:
    run = Run(
        id=run_id, name=run_id, color=0, config=Config(), machine_id=machine_id, created_at=NOW,
        state=RunState.FINISHED, started_at=NOW, ended_at=NOW, **fields,  # type: ignore[arg-type]
    )  # fmt: skip
    store.save_run(run)
    return run


def machine_of(machine_id: str, **fields: object) -> Machine:
    known_fields: dict[str, object] = {
        "id": machine_id, "host_name": "box1", "addresses": ["10.0.0.1"], "system": "Linux", "cpu": "a CPU",
        "cores": 4, "memory_bytes": 1 << 30, "gpus": [GPU], "gpus_reason": None, "driver_version": "595.1",
        "cuda_version": "13.0", "seen_at": NOW,
    }  # fmt: skip
    return Machine(**known_fields | fields)  # type: ignore[arg-type]


def test_machine_from_its_pitwall_keeps_its_label(store: Store) -> None:
    store.save_machine(machine_of("m1")).result()
    store.label_machine("m1", "the spark")
    store.save_machine(machine_of("m1", driver_version="600.0")).result()
    (row,) = machines(store)
    assert (row.label, row.driver_version, row.runs) == ("the spark", "600.0", 0)
    assert [gpu["memory_kind"] for gpu in row.gpus] == ["unified"]
    assert row.title() == "the spark"
    store.label_machine("m1", None)
    assert machines(store)[0].title() == "box1"
    assert machines(store)[0].title(shows_host=False) == "m1"


def test_other_machine_matches_its_newest_run(store: Store) -> None:
    old = {"host": {"name": "old"}, "gpus": [], "gpus_reason": "none"}
    new = {"host": {"name": "box2", "cores": 8}, "gpus": [GPU], "gpus_reason": None, "driver_version": "1.2"}
    run_on(store, "r1", "m2", provenance=old)
    store.save_run(run_on(store, "r2", "m2", provenance=new).model_copy(update={"started_at": NOW + timedelta(days=1)}))
    run_on(store, "r3", "remote-elsewhere")
    run_on(store, "r4", "unknown-r4")
    rows = {row.machine_id: row for row in machines(store)}
    assert rows.keys() == {"m2", "remote-elsewhere"}
    assert (rows["m2"].host_name, rows["m2"].cores, rows["m2"].runs) == ("box2", 8, 2)
    assert rows["remote-elsewhere"].gpus_reason == "machine_not_told"
    assert rows["remote-elsewhere"].title(shows_host=False) == "a remote machine"


def test_runs_are_found_by_their_machine(store: Store) -> None:
    for run_id, machine_id in (("r1", "m1"), ("r2", "m2"), ("r3", "unknown-r3")):
        run_on(store, run_id, machine_id)
    assert run_choices(store).machines == ("m1", "m2")
    assert [run.id for run in find_runs(store, RunFilter(machines=("m2",)), 10)] == ["r2"]


def test_run_has_machines_with_sampled_gpus(store: Store) -> None:
    run_on(store, "r1", "m1")
    store.write(
        Batch(
            (
                *(GpuSample("r1", NOW, 1.0, "m1", 0, "GPU-1", "H200", memory_kind="dedicated") for _ in range(3)),
                GpuSample("r1", NOW, 1.0, "m2", 0, "GPU-2", "H200", memory_kind="dedicated"),
                HostSample("r1", NOW, 1.0, "m3"),
            )
        )
    ).result()
    rows = store.query("FROM run_nodes_of(['r1']) ORDER BY machine_id").to_pylist()
    assert [(row["machine_id"], row["role"]) for row in rows] == [("m1", "server"), ("m2", "worker"), ("m3", "worker")]
    assert [[gpu["uuid"] for gpu in row["gpus"] or []] for row in rows] == [["GPU-1"], ["GPU-2"], []]
    assert rows[2]["gpus_reason"] == "no_gpu_sampled"


def test_this_machine_is_told_and_published(settings: Settings, store: Store) -> None:
    record_this_machine(store, "https://gpu.example/pitwall").join()
    store.label_machine(this_machine().id, "mine")
    store.publish()
    with published_query(settings.published_path) as query:
        (row,) = query("FROM machines").to_pylist()
    assert (row["host_name"], row["label"]) == (socket.gethostname(), "mine")
    assert row["url"] == "https://gpu.example/pitwall"
    assert row["gpus"] or row["gpus_reason"]


def test_own_host_name_means_this_machine() -> None:
    assert machine_at(f"http://{socket.gethostname()}:8000", "here") == "here"
    assert machine_at("http://127.0.0.1:8000", "here") == "here"
    assert machine_at("http://192.0.2.7:8000", "here") == "remote-192.0.2.7"
