"""Batches of agents in a real store: each once, of the run's time, from another machine."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from datetime import timedelta

import pytest

from collectors.agents.wire import RefusedError
from domain import Run, RunState
from samples import Batch
from service import agents
from service.agents import AgentIntake, BusyError, GoneError
from storage.store import Store
from tests.collectors.agents.conftest import AGENT, NOW, batch, message


@pytest.fixture
def intake(store: Store, run: Run) -> AgentIntake:
    return AgentIntake(store, lambda: NOW + timedelta(seconds=30))


def rows(store: Store) -> tuple[int, int]:
    table = store.query("SELECT (SELECT count(*) FROM gpu_samples) AS g, (SELECT count(*) FROM host_samples) AS h")
    return table["g"][0].as_py(), table["h"][0].as_py()


def test_repeated_batch_is_stored_once(store: Store, intake: AgentIntake) -> None:
    assert intake.store_message("r1", message(batch(1), batch(2))).number == 2
    assert intake.store_message("r1", message(batch(1), batch(2))).number == 2
    assert intake.store_message("r1", message(batch(2), batch(5))).number == 5, "what the buffer left out leaves a gap"
    assert rows(store) == (3, 3)
    assert intake.position("r1", AGENT).number == 5
    again = AgentIntake(store, lambda: NOW)
    assert again.store_message("r1", message(batch(5))).number == 5 and rows(store) == (3, 3), "a restart knows it too"


def test_two_agents_have_numbers_of_their_own(store: Store, intake: AgentIntake) -> None:
    intake.store_message("r1", message(batch(1)))
    intake.store_message("r1", message(batch(1), agent="b" * 32, machine="worker-2"))
    assert rows(store) == (2, 2)
    nodes = store.query("SELECT machine_id, role, gpus_reason FROM run_nodes ORDER BY machine_id").to_pylist()
    assert [(node["machine_id"], node["role"]) for node in nodes] == [
        ("head", "server"),
        ("worker", "worker"),
        ("worker-2", "worker"),
    ]
    names = store.query("SELECT host_name FROM machines WHERE machine_id = 'worker'").to_pylist()
    assert names == [{"host_name": "worker-1"}]


def test_clock_relation_is_kept_with_each_sample(store: Store, intake: AgentIntake) -> None:
    intake.store_message("r1", message(batch(1)))
    for table in ("gpu_samples", "host_samples"):
        rows = store.query(f"SELECT ts, clock_offset_s, clock_uncertainty_s FROM {table}").to_pylist()
        assert rows == [{"ts": NOW + timedelta(seconds=1), "clock_offset_s": -2.0, "clock_uncertainty_s": 0.001}]


def test_concurrent_equal_messages_stored_once(store: Store, intake: AgentIntake) -> None:
    begin = threading.Barrier(8)

    def give() -> None:
        begin.wait()
        intake.store_message("r1", message(*(batch(number) for number in range(1, 20))))

    givers = [threading.Thread(target=give) for _ in range(8)]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    assert rows(store) == (19, 19)


def test_undecided_batch_is_not_stored_again(
    store: Store, intake: AgentIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow store: the commit's promise is kept back by the test."""
    batches: list[Batch] = []
    promises: list[Future[None]] = []

    def slow(batch: Batch) -> Future[None]:
        batches.append(batch)
        promises.append(Future())
        return promises[-1]

    monkeypatch.setattr(agents, "WAIT_S", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(store, "write", slow)
        for _ in range(3):
            with pytest.raises(BusyError):
                intake.store_message("r1", message(batch(1)))
    assert len(batches) == 1
    store.write(batches[0]).result()
    promises[0].set_result(None)
    assert intake.store_message("r1", message(batch(1))).number == 1
    assert rows(store) == (1, 1)


def test_samples_outside_the_run_are_rejected(store: Store, intake: AgentIntake, run: Run) -> None:
    store.save_run(run.model_copy(update={"state": RunState.FINISHED, "ended_at": NOW + timedelta(seconds=10)}))
    early = batch(1, gpu={"t": NOW.timestamp() - 3600}, host={"t": NOW.timestamp() - 3600})
    taken_message = intake.store_message("r1", message(early, batch(9), batch(11)))
    assert (taken_message.number, taken_message.is_over) == (11, True)
    assert rows(store) == (1, 1)


def test_future_time_is_skipped_without_delay(store: Store, intake: AgentIntake) -> None:
    """A clock that was far ahead and has been set since: refused, these looks would be sent again for ever."""
    assert intake.store_message("r1", message(batch(3000), batch(3001, gpu={"t": NOW.timestamp() + 2}))).number == 3001
    assert rows(store) == (1, 0)


def test_own_machine_and_gone_run_are_refused(store: Store, intake: AgentIntake) -> None:
    with pytest.raises(RefusedError, match="own Pitwall samples"):
        intake.store_message("r1", message(batch(1), machine="head"))
    with pytest.raises(GoneError):
        intake.store_message("r2", message(batch(1)))
    with pytest.raises(RefusedError, match="order"):
        intake.store_message("r1", message(batch(2), batch(1)))
    intake.store_message("r1", message(batch(1)))
    with pytest.raises(RefusedError, match="another machine"):
        intake.store_message("r1", message(batch(2), machine="worker-9"))
    assert rows(store) == (1, 1)


def test_there_is_a_most_of_agents(store: Store, intake: AgentIntake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "MAX_AGENTS", 1)
    intake.store_message("r1", message(batch(1)))
    with pytest.raises(RefusedError, match="agents have already sent"):
        intake.store_message("r1", message(batch(1), agent="b" * 32))


def test_what_was_thinned_is_said_once(store: Store, intake: AgentIntake) -> None:
    intake.store_message("r1", message(batch(1), thinned=7))
    intake.store_message("r1", message(batch(2), thinned=7))
    intake.store_message("r1", message(batch(3), thinned=9))
    rows = store.query("SELECT text FROM events WHERE kind = 'collector' ORDER BY ts, text")["text"].to_pylist()
    assert sorted(words.split(",")[0] for words in rows) == [
        "worker-1 dropped 2 readings",
        "worker-1 dropped 7 readings",
    ]


def test_secrets_in_foreign_words_are_masked(store: Store, intake: AgentIntake) -> None:
    secret = "hf_" + "a" * 30
    gpu: dict[str, object] = {"gpu_name": secret, "gpu_uuid": secret, "memory_kind": secret}
    gpu["unknown"] = {"power_w": f"it said {secret}", secret: "why"}
    intake.store_message("r1", message(batch(1, gpu=gpu), host=f"worker {secret}"))
    text = str(store.query("FROM raw.gpu_samples").to_pylist()) + str(store.query("FROM raw.agents").to_pylist())
    assert secret not in text and "<secret>" in text


def test_deleted_run_drops_its_agents(store: Store, intake: AgentIntake, run: Run) -> None:
    intake.store_message("r1", message(batch(1)))
    store.save_run(run.model_copy(update={"state": RunState.FINISHED, "ended_at": NOW}))
    assert store.bin.delete(["r1"], "operator") == {}
    with pytest.raises(GoneError):
        intake.store_message("r1", message(batch(2)))


def test_agent_samples_machine_launched_over_ssh(store: Store, intake: AgentIntake, run: Run) -> None:
    store.save_run(run.model_copy(update={"provenance": {"on_host": "gpu-box"}}))
    intake.store_message("r1", message(batch(1), machine="head"))
    assert rows(store) == (1, 1), "nobody else sees its GPUs"
    [node] = store.query("SELECT machine_id, role FROM run_nodes").to_pylist()
    assert (node["machine_id"], node["role"]) == ("head", "server")


def test_own_pitwall_samples_this_machine(
    store: Store, intake: AgentIntake, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "machine_id", lambda: "head")
    store.save_run(run.model_copy(update={"provenance": {"on_host": "gpu-box"}}))
    with pytest.raises(RefusedError, match="its own Pitwall samples"):
        intake.store_message("r1", message(batch(1), machine="head"))
