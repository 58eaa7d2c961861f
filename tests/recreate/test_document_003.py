"""Document 003: a warm single request, then 2, 4 and 8 at once, FP8 against BF16."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from domain import JsonValue, Run
from load_records import Accuracy, Load
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import RequestPace
from tests.known_truth.played_run import PlayedArm
from tests.recreate.conftest import ImportText
from tests.recreate.document_tables import PrintedNumber, assert_recreated, document_table, printed_difference
from tests.recreate.shown_tables import LoadRows, PublishedCells
from tests.recreate.stand_ins import stand_in, step_for
from workloads.plan import Phase, PlannedRequest

STARTUP = document_table("003", "Start-up phases and capacity")
CAPACITY = document_table("003", "Serving capacity")
SINGLE = document_table("003", "One warm request")
CONCURRENT = document_table("003", "Concurrent throughput")
ACCURACY = document_table("003", "MMLU-Pro")
BESIDE = document_table("003", "MMLU-Pro beside the 26B mixture")
ARMS = {"fp8dyn": "FP8 Dynamic", "bf16": "BF16 baseline"}
QUESTIONS = 12_032  # of MMLU-Pro
TTFT_S = 0.05
TOKENS = int(SINGLE.value("fp8dyn", "bench_completion_tokens"))
PROMPT_TOKENS = int(SINGLE.value("fp8dyn", "bench_prompt_tokens"))


def arm_of(number: PrintedNumber) -> str:
    return ARMS[number.config.removeprefix("s003.")]


def latency_s(config: str, concurrency: int, sequence: int) -> float:
    """Return a request's seconds: their mean, and the slowest as long as the aggregate says."""
    if concurrency == 1:
        return SINGLE.value(config, "e2e_latency_avg")
    mean = CONCURRENT.value(config, "e2e_latency_avg", concurrency=concurrency)
    slowest = concurrency * TOKENS / CONCURRENT.value(config, "aggregate_tps", concurrency=concurrency)
    return slowest if sequence == 0 else (concurrency * mean - slowest) / (concurrency - 1)


def ladder(config: str) -> PlayedArm:
    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        seconds = latency_s(config, phase.concurrency, sequence)
        return RequestPace(TTFT_S, step_for(request.max_tokens, seconds, TTFT_S))

    arm = stand_in(ARMS[config], pace, "ladder", {"tokens": TOKENS, "repeats": 1})
    logged: dict[str, JsonValue] = {
        "model_load_gib": CAPACITY.value(config, "model_load_memory"),
        "kv_cache_tokens": CAPACITY.value(config, "kv_capacity_tokens"),
        "max_concurrency": CAPACITY.value(config, "max_concurrency"),
    }
    if config == "fp8dyn":
        logged |= {
            "weights_load_s": STARTUP.value(config, "weights_load_time"),
            "model_load_s": STARTUP.value(config, "model_load_total_time"),
            "compile_s": STARTUP.value(config, "torch_compile_time"),
            "engine_init_s": STARTUP.value(config, "engine_init_time"),
            "available_kv_gib": STARTUP.value(config, "available_kv_memory"),
        }
    ready_s = STARTUP.value("fp8dyn", "time_to_v1_models_ready")
    return replace(arm, prompt_tokens=PROMPT_TOKENS, logged=logged, ready_s=ready_s)


class Ladders(NamedTuple):
    """Both stand-ins as Pitwall shows them."""

    published: PublishedCells
    loads: dict[str, LoadRows]  # by arm
    store: PlayedStore
    run_ids: dict[str, str]


@pytest.fixture(scope="module")
def ladders(played: PlayedStore) -> Ladders:
    run_ids = played.play([ladder("bf16"), ladder("fp8dyn")], starts=1)
    by_arm = dict(zip((ARMS["bf16"], ARMS["fp8dyn"]), run_ids, strict=True))
    loads = {arm: LoadRows(played.store, run_id) for arm, run_id in by_arm.items()}
    return Ladders(PublishedCells(played.store, run_ids), loads, played, by_arm)


PUBLISHED_ROWS = {
    "model_load_total_time": "Loading the weights",
    "torch_compile_time": "Compilation",
    "engine_init_time": "Engine start",
    "time_to_v1_models_ready": "Time to ready",
    "available_kv_memory": "KV cache memory",
    "kv_capacity_tokens": "KV cache",
    "max_concurrency": "Full-length requests",
    "model_load_memory": "Weights in memory",
}


def test_startup_phases(ladders: Ladders) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        if number.metric == "weights_load_time":
            return startup_fact(ladders, arm_of(number), "weights_load_s")
        return ladders.published.value(PUBLISHED_ROWS[number.metric], arm_of(number))

    assert_recreated(STARTUP, computed_value)


def startup_fact(ladders: Ladders, arm: str, key: str) -> float | None:
    """Return a start-up fact of the log, as Run lists them under Configuration."""
    sql = "SELECT data->>'$.value' AS value FROM events WHERE run_id = ? AND kind = 'startup' AND (data->>'$.key') = ?"
    values = ladders.store.store.query(sql, [ladders.run_ids[arm], key])["value"].to_pylist()
    return float(values[0]) if values else None


def test_serving_capacity_and_its_differences(ladders: Ladders) -> None:
    assert_recreated(CAPACITY, lambda number: ladders.published.value(PUBLISHED_ROWS[number.metric], arm_of(number)))
    for row, claim in (("Weights in memory", "s003.vram47"), ("KV cache", "s003.kv99")):
        per_cent = 100 * (ladders.published.difference(row, ARMS["fp8dyn"]) - 1)
        assert per_cent == pytest.approx(printed_difference(claim), abs=1), row


def test_one_warm_request(ladders: Ladders) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        load = ladders.loads[arm_of(number)]
        if number.metric == "bench_prompt_tokens":
            return load.requests[0].prompt_tokens
        if number.metric == "bench_completion_tokens":
            return load.value("Single", "completion_tokens")
        if number.metric == "bench_temperature":
            return float(load.requests[0].sampling["temperature"])
        if number.metric == "e2e_latency_avg":
            return in_s(load.value("Single", "e2e_ms"))
        return load.value("Single", {"completion_tps_avg": "e2e_tps", "total_tps_avg": "total_tps"}[number.metric])

    assert_recreated(SINGLE, computed_value)
    faster = ladders.published.difference("Stream speed", ARMS["fp8dyn"])
    assert 100 * (faster - 1) == pytest.approx(printed_difference("s003.faster48"), abs=1)


def in_s(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def test_concurrent_throughput_as_the_run_shows_it(ladders: Ladders) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        load, point = ladders.loads[arm_of(number)], f"{number.concurrency} at once"
        if number.metric == "aggregate_tps":
            return load.value(point, "output_tps")
        return in_s(load.value(point, "e2e_ms"))

    assert_recreated(CONCURRENT, computed_value)


def test_concurrent_throughput_to_publish(ladders: Ladders) -> None:
    """The table to publish has the steady output and the median: half a per cent from wall and mean here."""

    def computed_value(number: PrintedNumber) -> float | None:
        if number.metric == "aggregate_tps":
            return ladders.published.value(f"Output speed, {number.concurrency} at once", arm_of(number))
        return in_s(ladders.published.value(f"End-to-end latency, {number.concurrency} at once, p50", arm_of(number)))

    assert_recreated(CONCURRENT, computed_value, tolerance=0.005)
    for concurrency in (2, 4, 8):
        ratio = ladders.published.difference(f"Output speed, {concurrency} at once", ARMS["fp8dyn"])
        assert 100 * (ratio - 1) == pytest.approx(printed_difference("s003.c46"), abs=1)


MODELS = {
    "26b_bf16": "26B BF16",
    "26b_fp8": "26B FP8 Dynamic Norouter",
    "bf16": "31B BF16",
    "fp8dyn": "31B FP8 Dynamic",
}


def scored(config: str) -> PlayedArm:
    """Return a stand-in whose lm-eval result says the document's share of right answers."""

    def rows(run: Run) -> tuple[Load, Accuracy]:
        at, correct = run.created_at, round(BESIDE.value(config, "mmlu_pro") / 100 * QUESTIONS)
        load = Load(run.id, "mmlu", at, "lm-eval", "lm-eval", "0.4.9")
        share = correct / QUESTIONS
        return load, Accuracy(run.id, "mmlu", at, "mmlu_pro", "none", "exact_match", correct, QUESTIONS, share)

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        return RequestPace(TTFT_S, 0.02)

    arm = stand_in(MODELS[config], pace, "ladder", {"tokens": 16, "repeats": 1, "rungs": [1]})
    return replace(arm, further_rows=rows)


@pytest.fixture(scope="module")
def accuracies(played: PlayedStore) -> PublishedCells:
    order = ("bf16", "fp8dyn", "26b_bf16", "26b_fp8")
    return PublishedCells(played.store, played.play([scored(config) for config in order], starts=1))


def test_mmlu_pro_of_all_models(accuracies: PublishedCells) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        return accuracies.value("mmlu_pro", MODELS[number.config.removeprefix("s003.")])

    assert_recreated(BESIDE, computed_value)
    assert_recreated(ACCURACY, computed_value, metrics=("mmlu_pro",))
    difference = accuracies.difference("mmlu_pro", MODELS["fp8dyn"])
    assert difference == pytest.approx(printed_difference("s003.delta_acc"), abs=0.01)


def test_mmlu_pro_wall_clock_as_published(played: PlayedStore, import_text: ImportText) -> None:
    rows = [(MODELS[config], ACCURACY.value(config, "mmlu_pro_wall")) for config in ("bf16", "fp8dyn")]
    text = "| Model | Wall clock |\n|---|---|\n" + "".join(f"| {name} | {minutes:g} min |\n" for name, minutes in rows)
    load = LoadRows(played.store, import_text(text))
    minutes = {point: (row.value or 0) / 60 for (point, metric, _), row in load.rows.items() if metric == "duration_s"}

    def computed_value(number: PrintedNumber) -> float | None:
        name = MODELS[number.config.removeprefix("s003.")]
        return next((value for point, value in minutes.items() if name in point), None)

    assert_recreated(ACCURACY, computed_value, metrics=("mmlu_pro_wall",))
