"""`./pitwall compare RUN... --json` on a store: all that the page says, each kind of prompt and each rung too."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from analysis.compare_arms import compare_arms
from analysis.guard import RowCode, RowStatus
from cli.main import main
from cli.results.compare import _plain
from domain import RunState
from reports.arms.comparison import comparison_of
from settings import Settings
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import stored

LADDER, CLASSES = {"tokens": 48, "repeats": 2}, {"token_scale": 0.1, "parallel": 2}


def two_arms(store: Store, workload: str, params: dict[str, Any], **updates: Any) -> list[str]:
    """Two starts each without drafts and with drafts of 4 on a step that costs 10 % more."""
    rng = np.random.default_rng(3)
    plain, drafting = IdealEngine(0.02, start_sd=0.005), IdealEngine(0.022, drafts=4, start_sd=0.005)
    a, b = repeats(plain, workload, 2, rng, **params), repeats(drafting, workload, 2, rng, **params)
    for number, facts in enumerate([*a, *b]):
        stored(store, facts, 0 if number < 2 else 4, 10.0 * number, **updates)
    return [facts.run_id for facts in (*a, *b)]


@pytest.fixture
def printed_comparison(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """What the command prints of some runs."""
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))

    def run(*words: str) -> str:
        store.close()
        assert main(["compare", *words]) == 0
        return capsys.readouterr().out

    return run


def strictly(text: str) -> dict[str, Any]:
    """JSON has no NaN and no Infinity."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    fields: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return fields


@pytest.mark.publishes
def test_each_rung_of_a_ladder_is_told(store: Store, printed_comparison: Any) -> None:
    ids = two_arms(store, "ladder", LADDER)
    report = comparison_of(store, runs_of(store, ids))
    document = strictly(printed_comparison(*ids, "--json"))
    assert [rung["objective"] for rung in document["rungs"]] == ["output_tps@2", "output_tps@4", "output_tps@8"]
    for rung in document["rungs"]:
        objective = next(objective for objective in report.objectives if objective.name == rung["objective"])
        (direct,), (answer,) = compare_arms(report.arms, objective), rung["answers"]
        assert direct.judgement and direct.is_ranked
        assert answer["ratio"] == pytest.approx(direct.judgement.ratio) and answer["answer"] == direct.judgement.answer
        assert answer["interval"] == pytest.approx(direct.judgement.interval)
        assert {factor["name"] for factor in answer["factors"]} == {
            "tokens_per_step",
            "steps_per_s",
            "running",
            "first_token",
        }
    assert document["rungs"][-1]["answers"][0]["ratio"] == document["answers"][0]["ratio"]
    text = printed_comparison(*ids)
    for rung in document["rungs"]:
        assert f"{rung['objective'].partition('@')[2]} at once      {rung['answers'][0]['ratio']:.2f}x" in text


@pytest.mark.publishes
def test_prompt_factors_multiply_to_the_ratio(store: Store, printed_comparison: Any) -> None:
    ids = two_arms(store, "five-prompts", CLASSES)
    document = strictly(printed_comparison(*ids, "--json"))
    (answer,) = document["answers"]
    assert document["objective"] == "decode_tps" and document["rungs"] == [] and len(answer["parts"]) == 5
    ratios = [part["ratio"] for part in answer["parts"]]
    assert math.prod(ratios) ** (1 / 5) == pytest.approx(answer["ratio"])
    for part in (answer, *answer["parts"]):
        assert math.prod(factor["ratio"] for factor in part["factors"]) == pytest.approx(part["ratio"], rel=0.01)
        assert part["interval"][0] < part["ratio"] < part["interval"][1]
    assert [row["code"] for row in answer["guard"]] == [code.value for code in RowCode]
    assert {row["standing"] for row in answer["guard"]} <= {standing.value for standing in RowStatus}
    text = printed_comparison(*ids)
    assert all(f"  {part['name']:<14} {part['ratio']:.2f}x" in text for part in answer["parts"])


@pytest.mark.publishes
def test_what_is_not_ranked_has_no_ratio_anywhere(store: Store, printed_comparison: Any) -> None:
    """The second arm ran on another machine."""
    ids = two_arms(store, "ladder", LADDER)
    for run in runs_of(store, ids[2:]):
        store.save_run(run.model_copy(update={"machine_id": "m2", "state": RunState.FINISHED}))
    document = strictly(printed_comparison(*ids, "--json"))
    (answer,) = document["answers"]
    assert answer["answer"] == "not_comparable"
    assert (answer["ratio"], answer["interval"], answer["factors"], answer["parts"]) == (None, None, [], [])
    assert [row["code"] for row in answer["guard"] if row["standing"] == "matters"] == ["hardware"]
    for rung in document["rungs"]:
        (run,) = rung["answers"]
        assert (run["answer"], run["ratio"], run["factors"]) == ("not_comparable", None, [])
    assert "8 at once      not ranked" in printed_comparison(*ids)
    declared = strictly(printed_comparison(*ids, "--json", "--declare", "hardware"))
    assert declared["answers"][0]["ratio"] and all(rung["answers"][0]["ratio"] for rung in declared["rungs"])


def test_numbers_json_lacks_become_null() -> None:
    values = {"model": "Infinity-7B", "ratio": math.inf, "share": (math.nan, 0.5), "code": RowCode.MODEL, "is": True}
    assert _plain(values) == {
        "model": "Infinity-7B",
        "ratio": None,
        "share": [None, 0.5],
        "code": "model",
        "is": True,
    }
