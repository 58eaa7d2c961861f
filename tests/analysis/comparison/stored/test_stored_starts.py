"""From stored rows: runs that met one server process, and server starts that carried several loads."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from analysis.comparison.facts import RunFacts
from analysis.comparison.workload import WorkloadNotSharedError
from analysis.guard import RowCode
from analysis.verdict import VerdictAnswer
from cli.main import main
from domain import RunState
from reports.arms.comparison import ComparisonOptions, ComparisonReport, comparison_of, incomparable_runs
from reports.arms.facts import facts_of
from samples import Batch, CounterSample
from settings import Settings
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.hand_made import request
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, on_one_start, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored

PLAIN, DRAFTING = IdealEngine(0.02, start_sd=0.005), IdealEngine(0.022, drafts=4, start_sd=0.005)
ATTACHED = {"kind": "attached", "base_url": "http://127.0.0.1:8000"}


def report_of(store: Store, *run_ids: str, **asked: object) -> ComparisonReport:
    return comparison_of(store, runs_of(store, run_ids), ComparisonOptions(**asked))  # type: ignore[arg-type]


def load_of(engine: IdealEngine, seed: int, workload: str = "five-prompts") -> RunFacts:
    return engine.run(workload, np.random.default_rng(seed), dict(SMALL) if workload == "ladder" else {})


def watched(store: Store, run_id: str, *starts_s: float) -> None:
    """Counters that grow while the first load goes on, as a second look at the same server sees them."""
    rows = [
        CounterSample(
            run_id, T0 + timedelta(seconds=n), float(n), "vllm.counter",
            generation_tokens_total=50.0 * n, process_start_s=began_s,
        )
        for n, began_s in enumerate(starts_s)
    ]  # fmt: skip
    store.write(Batch(tuple(rows))).result()


def test_two_runs_on_one_process_are_one_start(store: Store) -> None:
    one, other, third = repeats(PLAIN, "ladder", 3, np.random.default_rng(1), **SMALL)
    process = ATTACHED | {"pid": 4711, "pid_birth_s": 123.45}
    for facts in (one, other):
        stored(store, facts, 0, 1.0, **process)
    stored(store, third, 0, 1.0, **process | {"pid_birth_s": 999.0})
    drafting = stored(store, repeats(DRAFTING, "ladder", 1, np.random.default_rng(2), **SMALL)[0], 4, 9.0)
    report = report_of(store, one.run_id, other.run_id, third.run_id, drafting.id)
    assert [(len(arm.runs), len(arm.starts)) for arm in report.arms] == [(3, 2), (1, 1)]
    (answer,) = report.answers
    assert answer.judgement is not None and answer.judgement.replicates == (2, 1)


def test_server_address_with_one_birth_is_a_start(store: Store) -> None:
    runs = repeats(PLAIN, "ladder", 4, np.random.default_rng(3), **SMALL)
    began = [(1000.0, 1000.0), (1000.0,), (2000.0,), (1000.0, 3000.0)]
    for facts, starts_s in zip(runs, began, strict=True):
        stored(store, facts, 0, 1.0, **ATTACHED)
        watched(store, facts.run_id, *starts_s)
    (arm,) = report_of(store, *(facts.run_id for facts in runs)).arms
    assert [start.run_id for start in arm.starts] == [runs[n].run_id for n in (0, 2, 3)]
    assert len(arm.starts[0].loads) == 2, "one that began anew is no process that is known"


def test_second_look_is_no_neighbour(store: Store) -> None:
    """It sees the counters rise by the load of the first; only requests of its own would be company."""
    during = {"started_at": T0 - timedelta(minutes=5), "ended_at": T0 + timedelta(hours=1)}
    one = stored(store, load_of(PLAIN, 4), 0, 0.0, **ATTACHED | during)
    look = one.model_copy(update={"id": "a second look"})
    store.save_run(look)
    watched(store, look.id, *[1000.0] * 30)
    assert facts_of(store, [one])[0].neighbours == ()
    store.save_run(look.model_copy(update={"base_url": "http://127.0.0.1:8001"}))
    (near,) = facts_of(store, [one])[0].neighbours
    assert near.run_id == look.id, "another server that worked is company"
    store.save_run(look.model_copy(update={"base_url": "http://127.0.0.1:8001", "pid": 5, "pid_birth_s": 1.5}))
    store.save_run(one.model_copy(update={"pid": 5, "pid_birth_s": 1.5}))
    assert facts_of(store, [one])[0].neighbours == (), "one process under two addresses"
    store.write(Batch((replace(request(0), run_id=look.id, sent_at=T0 + timedelta(seconds=3)),))).result()
    assert len(facts_of(store, [one])[0].neighbours) == 1, "two clients at once disturb each other"


def test_live_comparison_judged_once_both_end(store: Store) -> None:
    """Requests that fail may be followed by others that do not; nothing follows in a run that has ended."""
    good, bad = load_of(PLAIN, 5), load_of(PLAIN, 6)
    failing = [replace(r, error_kind="timeout") if n % 2 else r for n, r in enumerate(bad.loads[0].requests)]
    bad = replace(bad, loads=(replace(bad.loads[0], requests=tuple(failing)),))
    runs = [stored(store, good, 0, 0.0), stored(store, bad, 0, 3.0)]
    assert incomparable_runs(store, runs)[bad.run_id].code is RowCode.FAILED
    going_on = runs[1].model_copy(update={"state": RunState.RUNNING, "ended_at": None})
    store.save_run(going_on)
    assert incomparable_runs(store, [runs[0], going_on]) == {}


@pytest.fixture
def carried(store: Store) -> list[str]:
    """Three plain starts, the first of them with a ladder too, against three with drafts, each with both."""
    ids = []
    for place, (engine, k) in enumerate(((PLAIN, 0), (DRAFTING, 4))):
        for number in range(3):
            seed = 10 * place + number
            loads = [load_of(engine, seed)]
            if k or not number:
                loads.append(load_of(engine, seed + 100, "ladder"))
            ids.append(stored(store, on_one_start(*loads), k, 24.0 * seed).id)
    return ids


def test_further_loads_keep_the_common_load(store: Store, carried: list[str]) -> None:
    report = report_of(store, *carried)
    assert report.workload and report.workload.name == "five-prompts" and len(report.workloads) == 2
    assert [len(arm.starts) for arm in report.arms] == [3, 3] and report.objective.name == "decode_tps"
    (answer,) = report.answers
    assert answer.judgement is not None and answer.judgement.answer is VerdictAnswer.BETTER, answer.refused


def test_the_other_workload_can_be_asked_for(store: Store, carried: list[str]) -> None:
    report = report_of(store, carried[0], *carried[3:], workload="ladder")
    assert report.objective.name == "output_tps@8" and report.answers[0].is_ranked, report.answers[0].refused
    with pytest.raises(WorkloadNotSharedError, match="have the workload 'demo'"):
        report_of(store, *carried, workload="demo")


def test_equal_loads_on_a_start_are_one_replicate(store: Store) -> None:
    ids = []
    for place, (engine, k) in enumerate(((PLAIN, 0), (DRAFTING, 4))):
        for number in range(3):
            seed = 10 * place + number
            twice = on_one_start(load_of(engine, seed), load_of(engine, seed + 100))
            ids.append(stored(store, twice, k, 24.0 * seed).id)
    (answer,) = report_of(store, *ids).answers
    assert answer.judgement is not None and answer.judgement.replicates == (3, 3) and answer.is_ranked


@pytest.mark.publishes
def test_terminal_takes_workload_and_margin(
    store: Store,
    settings: Settings,
    carried: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    texts = ["compare", carried[0], *carried[3:], "--workload", "ladder", "--margin", "5%"]
    assert main([*texts, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["margin"] == 0.05 and document["workload"].startswith("ladder@") and len(document["workloads"]) == 2
    assert [arm["starts"] for arm in document["arms"]] == [1, 3] and document["objective"] == "output_tps@8"
    assert main(texts) == 0
    words = capsys.readouterr().out
    assert "Compared under the workload ladder;" in words and "Differences below 5 % count as irrelevant." in words
    assert main([*texts[:-1], "5"]) == 1 and "enter a share such as 5% or 0.05" in capsys.readouterr().err
