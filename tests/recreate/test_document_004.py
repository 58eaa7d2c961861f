"""Document 004: 1K input and 200 output tokens on several quants, accuracies, and compatibility by GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from domain import Run, RunState
from load_records import Accuracy, Load
from reference.statements import read_table
from reports.arms.compatibility import compatibility, published_compatibility
from samples import Sample
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import RequestPace
from tests.known_truth.played_run import PlayedArm, PlayedRun
from tests.recreate.document_tables import (
    DocumentTable,
    PrintedNumber,
    assert_recreated,
    document_table,
    printed_difference,
    statement_lines,
)
from tests.recreate.shown_tables import PublishedCells
from tests.recreate.stand_ins import stand_in
from web.compare.compatibility_table import compatibility_table
from workloads.plan import Phase, PlannedRequest

BENCHMARK = document_table("004", "1K input and 200 output tokens")
OTHERS = document_table("004", "Other quants of similar size")
NAMES = {
    "base": "Base model",
    "nvidia": "NVIDIA quant",
    "turbo": "Turbo",
    "prithiv": "prithivMLmods NVFP4",
    "cyankiwi": "cyankiwi AWQ",
}
PROMPT_TOKENS, OUTPUT_TOKENS, USERS = 1000, 200, 16
ITEMS = 10_000  # of a stand-in's task: a share with two decimals is a whole number of right answers
TASKS = {"gpqa_diamond": "gpqa_diamond", "mmlu_pro": "mmlu_pro"}
ROWS = {
    "gpu_memory": "Weights in memory",
    "prefill_tps": "Prefill speed, one at a time",
    "decode_tps_single": "Stream speed",
    "decode_tps_batched": f"Output speed, {USERS} at once",
    "request_throughput": f"Request rate, {USERS} at once",
} | TASKS
DIFFERENCES = {
    "gpu_memory": "gpu_memory",
    "gpqa_diamond": "gpqa_diamond",
    "mmlu_pro": "mmlu_pro",
    "prefill_tps": "prefill_tps",
    "decode_tps_single": "decode_tps_single",
    "decode_tps_batched": "decode_tps_batched",
    "request_throughput": "conc",
}


def quant(table: DocumentTable, config: str) -> PlayedArm:
    """Return a stand-in with the pace, the memory and the right answers that a column prints."""
    ttft_s = PROMPT_TOKENS / table.value(config, "prefill_tps")
    busy_s = USERS / table.value(config, "request_throughput")

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        if phase.concurrency == 1:
            return RequestPace(ttft_s, 1 / table.value(config, "decode_tps_single"))
        return RequestPace(busy_s / OUTPUT_TOKENS, busy_s / OUTPUT_TOKENS)

    def accuracies(run: Run) -> Iterator[Sample]:
        yield Load(run.id, "accuracy", run.created_at, "lm-eval", "lm-eval", "0.4.9")
        scores = {number.metric: number.value for number in table.numbers if number.config == f"s004.{config}"}
        for metric, task in TASKS.items():
            if metric in scores:
                correct = round(scores[metric] / 100 * ITEMS)
                yield Accuracy(run.id, "accuracy", run.created_at, task, "none", "acc", correct, ITEMS, correct / ITEMS)

    params = {
        "prompt_tokens": [PROMPT_TOKENS],
        "output_tokens": [OUTPUT_TOKENS],
        "concurrency": [1, USERS],
        "repeats": 2,
    }
    arm = stand_in(NAMES[config], pace, "grid", params)
    logged = {"model_load_gib": table.value(config, "gpu_memory")}
    return replace(arm, logged=logged, further_rows=accuracies)


Publish = Callable[..., PublishedCells]


@pytest.fixture(scope="module")
def publish(played: PlayedStore) -> Publish:
    def published(table: DocumentTable, *configs: str) -> PublishedCells:
        return PublishedCells(played.store, played.play([quant(table, config) for config in configs], starts=1))

    return published


def assert_columns(table: DocumentTable, published: PublishedCells) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        return published.value(ROWS[number.metric], NAMES[number.config.removeprefix("s004.")])

    # Requests per second and tokens per second of the document agree to a thousandth, not to their last digit.
    assert_recreated(table, computed_value, tolerance=0.002)


def test_benchmark_and_differences_from_the_base_model(publish: Publish) -> None:
    published = publish(BENCHMARK, "base", "nvidia", "turbo")
    assert_columns(BENCHMARK, published)
    assert_differences(published, "base")


def test_differences_from_the_other_quant(publish: Publish) -> None:
    assert_differences(publish(BENCHMARK, "nvidia", "turbo"), "nvidia")


def assert_differences(published: PublishedCells, baseline: str) -> None:
    """Demand the differences that stand in brackets beside the values of Turbo."""
    for metric, claim in DIFFERENCES.items():
        printed = printed_difference(f"s004.{claim}_vs_{baseline}")
        difference = published.difference(ROWS[metric], NAMES["turbo"])
        if metric in TASKS:
            assert difference == pytest.approx(printed, abs=0.005), metric
        else:
            assert 100 * (difference - 1) == pytest.approx(printed, abs=1), metric


def test_other_quants_of_similar_size(publish: Publish) -> None:
    assert_columns(OTHERS, publish(OTHERS, "prithiv", "cyankiwi", "turbo"))


# --- compatibility ----------------------------------------------------------------------------------------------------
STATEMENTS = [row for row in read_table("validations") if row["kind"] == "compatibility"]


def started_on(gpu: str, works: bool) -> PlayedRun:
    """Return a start on this GPU that became ready, or one that failed."""

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        return RequestPace(0.05, 0.02)

    arm = stand_in("turbo", pace, "ladder", {"tokens": 8, "repeats": 1, "rungs": [1]})
    (played_run,) = replace(arm, provenance={"gpus": [{"name": gpu}]}).starts(1, np.random.default_rng(1))
    if works:
        return played_run
    changes = {"state": RunState.FAILED, "ready_at": None, "cause": "out of memory"}
    return PlayedRun(played_run.run.model_copy(update=changes), ())


def test_compatibility_of_own_starts_and_as_published(played: PlayedStore) -> None:
    """Each GPU that the document tried is started here too; its statements stand in the row as published."""
    tried = {row["subject"]: row["is_pass"] == "true" for row in STATEMENTS if row["is_pass"]}
    run_ids = played.take_in([started_on(gpu, works) for gpu, works in tried.items()])
    places, published = compatibility(played.store, run_ids), published_compatibility()
    assert {place.gpu: place.outcome == "works" for place in places} == tried
    assert [row["line"] for row in STATEMENTS] == statement_lines("004", "Compatibility by GPU")
    shown_compatibility_table = compatibility_table(places, published)
    for row, statement in zip(STATEMENTS, published, strict=True):
        assert statement.gpu == row["subject"] and row["subject"] in shown_compatibility_table
        assert (statement.memory, statement.most_context) == (row["memory"], row["max_context"])
        for text in filter(None, (row["memory"], row["max_context"], row["result"].rstrip("."))):
            assert text in shown_compatibility_table, f"{row['subject']}: {text}"
    assert (
        shown_compatibility_table.count("works, 1 start") == 2
        and "fails, 1 start: out of memory" in shown_compatibility_table
    )
