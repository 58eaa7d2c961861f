"""Settings that fit, from the log of one run: other contexts and other shares of the GPU's memory."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.comparison.arms import Arm, arm_key
from analysis.evidence.objectives import parse_objective
from commands.study_file import StudyPlan, study_of_text
from domain import Run, RunState, utc_now
from machine.identity import machine_id
from reports.arms.facts import facts_of
from reports.studies.study_values import MeasuredArms, ValueStep, predict_values
from samples import Batch, Event
from storage.store import Store
from tests.analysis.physics.models import GEMMA_4_31B

GIB = 1024**3
LOG = {"available_kv_gib": 20.0, "kv_cache_tokens": 43_700, "max_concurrency": 4.19, "max_concurrency_context": 32768}
DECODING = parse_objective("decode_tps")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(GEMMA_4_31B))
    return folder


def plan_of(model: Path, field: str, values: str) -> StudyPlan:
    command = f"vllm serve {model} --port 8001 --kv-cache-dtype fp8 --max-model-len 32768 --gpu-memory-utilization 0.9"
    return study_of_text(
        f'question = "value"\n[[arm]]\nname = "a"\ncommand = "{command}"\n[[workload]]\nname = "ladder"\n'
        f'[[vary]]\nfield = "{field}"\nvalues = {values}\n',
        "room",
    )


def after(store: Store, plan: StudyPlan, name: str | None, gpus: list[dict[str, Any]]) -> ValueStep:
    """What is predicted once the arm of this name has run; None: before any has."""
    arms, runs = {}, {arm.name: tuple[Run, ...]() for arm in plan.arms}
    for arm in plan.arms:
        if arm.name == name:
            now = utc_now()
            run = Run(
                id="r1", name="r1", color=0, machine_id=machine_id(), created_at=now, started_at=now, arm=arm.name,
                ready_at=now + timedelta(seconds=60), state=RunState.FINISHED,
                config=arm.config.model_copy(update={"engine_version": "0.19.0"}),
                provenance={"gpus": gpus},
            )  # fmt: skip
            store.save_run(run)
            rows = (Event("r1", now, "startup", key, data={"key": key, "value": LOG[key]}) for key in LOG)
            store.write(Batch(tuple(rows))).result()
            (facts,) = facts_of(store, [run])
            runs[arm.name], arms[arm.name] = (run,), Arm(arm_key(facts), (facts,))
    logs = {arm.name: [1.0] if arm.name == name else [] for arm in plan.arms}
    return predict_values(store, plan, MeasuredArms(arms, runs, DECODING, logs, ()))


def test_shortest_context_starts_first(store: Store, model: Path) -> None:
    plan = plan_of(model, "max_model_len", "[32768, 65536, 262144, 524288]")
    assert after(store, plan, None, []).probe == "max_model_len 32768"
    told = after(store, plan, "max_model_len 32768", [])
    assert told.probe is None
    assert told.excluded == ("max_model_len 524288",)  # 262,144 take 13.5 of the 20 GiB, 524,288 take 22
    max_model_len_524288 = told.predicted["max_model_len 524288"]
    assert (
        max_model_len_524288.requests == pytest.approx(0.9, abs=0.05)
        and max_model_len_524288.requests_by == "max_model_len 32768"
    )


def test_largest_memory_share_starts_first(store: Store, model: Path) -> None:
    """0.70 of 80 GiB is 16 GiB less than 0.90, and a request of 32,768 tokens needs 4.8 GiB of the 4 that are left."""
    plan = plan_of(model, "gpu_memory_utilization", "[0.9, 0.85, 0.7]")
    gpus: list[dict[str, Any]] = [{"name": "NVIDIA H100", "memory_total_bytes": 80 * GIB}]
    assert after(store, plan, None, gpus).probe == "gpu_memory_fraction 0.9"
    told = after(store, plan, "gpu_memory_fraction 0.9", gpus)
    assert told.excluded == ("gpu_memory_fraction 0.7",)
    assert set(told.predicted) == {"gpu_memory_fraction 0.7"}


def test_all_race_without_log_or_gpu_facts(store: Store, model: Path) -> None:
    plan = plan_of(model, "gpu_memory_utilization", "[0.9, 0.85, 0.7]")
    assert after(store, plan, "gpu_memory_fraction 0.9", []) == ValueStep()
    seqs = plan_of(model, "max_num_seqs", "[1, 2, 4]")
    assert after(store, seqs, None, []) == ValueStep()
