"""Document 002: five prompts in two runs, then four at once with both aggregates."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import pytest

from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import RequestPace
from tests.recreate.document_tables import PrintedNumber, assert_recreated, document_table
from tests.recreate.shown_tables import LoadRows
from tests.recreate.stand_ins import stand_in, step_for
from workloads.plan import Phase, PlannedRequest

FIVE = document_table("002", "Five prompts, two runs")
FOUR = document_table("002", "Four at once, both aggregates")
CONFIG = "gptq_mtp7"
TTFT_S = 0.1
SUM_OF_RATES_TPS = 122.7  # of the four rates that the document prints
# The document's own total is 0.1 % less than its tokens over its seconds.
TOTAL_TOLERANCE = 0.0012


class FivePrompts(NamedTuple):
    """The stand-in's load: its results, and the requests one by one as SQL shows them."""

    load: LoadRows
    requests: dict[tuple[str, str, int], tuple[int, float]]  # phase title, kind, number -> tokens and seconds


def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
    if phase.kind == "warmup":
        return RequestPace(TTFT_S, 0.02)
    if phase.concurrency == 1:
        run = phase.title.removeprefix("Run ").split("/")[0]
        conditions = {"prompt": request.prompt_class, "run": run}
        seconds = seconds_between(
            request.max_tokens,
            FIVE.value(CONFIG, "elapsed_s", **conditions),
            FIVE.value(CONFIG, "tps_e2e", **conditions),
        )
    else:
        seconds = request.max_tokens / FOUR.value(CONFIG, "tps_e2e", request=sequence + 1)
    return RequestPace(TTFT_S, step_for(request.max_tokens, seconds, TTFT_S))


def seconds_between(tokens: int, rounded_s: float, cut_tps: float) -> float:
    """Return a duration that prints as both: the document rounds its seconds and cuts its speeds after a decimal."""
    low, high = max(rounded_s - 0.005, tokens / (cut_tps + 0.1)), min(rounded_s + 0.005, tokens / cut_tps)
    assert low < high, "no duration fits both printed numbers"
    return (low + high) / 2


@pytest.fixture(scope="module")
def five_prompts(played: PlayedStore) -> FivePrompts:
    (run_id,) = played.play([stand_in("GPTQ with MTP 7", pace, "five-prompts", {"ignore_eos": True})], starts=1)
    sql = """SELECT extra->>'$.phase_title' AS title, prompt_class, sequence, completion_tokens AS tokens, total_ms
             FROM requests WHERE run_id = ? AND phase = 'measure'"""
    rows = played.store.query(sql, [run_id]).to_pylist()
    return FivePrompts(
        LoadRows(played.store, run_id),
        {(row["title"], row["prompt_class"], row["sequence"]): (row["tokens"], row["total_ms"] / 1000) for row in rows},
    )


def test_each_request_of_both_runs(five_prompts: FivePrompts) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        title = f"Run {number.conditions['run']}/2"
        request = next(
            (value for key, value in five_prompts.requests.items() if key[:2] == (title, number.conditions["prompt"])),
            None,
        )
        value = shown_of(request, number.metric)
        return floor(10 * value) / 10 if value is not None and number.metric == "tps_e2e" else value

    assert_recreated(FIVE, computed_value)


def shown_of(request: tuple[int, float] | None, metric: str) -> float | None:
    if request is None:
        return None
    tokens, seconds = request
    return {"completion_tokens": float(tokens), "elapsed_s": seconds, "tps_e2e": tokens / seconds}[metric]


def test_mean_speed_of_each_kind_as_the_run_shows_it(five_prompts: FivePrompts) -> None:
    speeds = [number for number in FIVE.numbers if number.metric == "tps_e2e"]
    kinds = {number.conditions["prompt"] for number in speeds}
    assert {point for point, metric, _ in five_prompts.load.rows if metric == "e2e_tps"} == kinds | {"4 at once"}
    for kind in kinds:
        printed = [number.value for number in speeds if number.conditions["prompt"] == kind]
        mean = sum(printed) / len(printed)
        assert len(printed) == 2
        value = five_prompts.load.value(kind, "e2e_tps")
        assert value is not None and 0 <= value - mean < 0.1, f"{kind}: {value}, printed {mean}, cut after a decimal"


def test_four_at_once_with_both_aggregates(five_prompts: FivePrompts) -> None:
    load, point = five_prompts.load, "4 at once"

    def computed_value(number: PrintedNumber) -> float | None:
        request = five_prompts.requests.get((point, "Parallel", int(number.conditions["request"] or 1) - 1))
        seconds = max((s for key, (_, s) in five_prompts.requests.items() if key[0] == point), default=None)
        tokens = sum(tokens for key, (tokens, _) in five_prompts.requests.items() if key[0] == point)
        fields = {"completion_tokens_total": tokens, "elapsed_s": seconds, "tps_total": load.value(point, "output_tps")}
        return fields[number.metric] if number.metric in fields else shown_of(request, number.metric)

    assert_recreated(FOUR, computed_value, tolerance=TOTAL_TOLERANCE)
    assert load.value(point, "sum_of_rates_tps") == pytest.approx(SUM_OF_RATES_TPS, abs=0.05)
