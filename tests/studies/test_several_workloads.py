"""Several workloads in one study: a winner only where it is one under all of them."""

from __future__ import annotations

from typing import Any

import pytest

from cli.results.study import as_text
from commands.study_file import StudyFileError, study_of_text
from domain import Study, utc_now
from studies.several import combine_answers
from tests.studies.test_study_file import WHICH

NAMES = ["short", "long"]
STARTS = {"a": 3, "b": 4}  # server starts, which the workloads share


def state(answer: str | None, winner: str | None = None, **states: str) -> dict[str, Any]:
    arms = [
        {"name": name, "runs": 3, "state": states.get(name, "racing"), "cause": None} for name in ("a", "b")
    ]  # fmt: skip
    return {
        "answer": answer, "winner": winner, "objective": "decode_tps", "arms": arms, "runs": 6, "reasons": ["Why."],
        "starts_left": None if answer else [2, 4],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("short", "long", "answer", "winner", "why"),
    [
        (state("winner", "a", b="out"), state("winner", "a", b="out"), "winner", "a", None),
        (state("winner", "a", b="out"), state("same"), "winner", "a", None),
        (state("same"), state("winner", "b", a="out"), "winner", "b", None),
        (state("same"), state("same"), "same", None, None),
        (state("winner", "a", b="out"), state("winner", "b", a="out"), "unknown", None, "a wins under short, b wins"),
        (state("winner", "a", b="out"), state("same", a="out"), "unknown", None, "is not among the best under long"),
        (state("same"), state("same", a="out"), "unknown", None, "with different sets"),
        (state("winner", "a", b="out"), state("unknown"), "unknown", None, None),
        (state("winner", "a", b="out"), state("failed", a="failed", b="failed"), "failed", None, None),
    ],
)  # fmt: skip
def test_what_they_say_together(
    short: dict[str, Any], long: dict[str, Any], answer: str, winner: str | None, why: str | None
) -> None:
    whole = combine_answers(NAMES, [short, long], STARTS, ["Before."], is_over=True)
    assert (whole["answer"], whole["winner"], whole["runs"]) == (answer, winner, 7)
    assert whole["reasons"][0] == "Before." and whole["reasons"][-2:] == ["short: Why.", "long: Why."]
    assert [why in reason for reason in whole["reasons"][1:2]] == [True] if why else len(whole["reasons"]) == 3
    assert [workload["workload"] for workload in whole["workloads"]] == NAMES
    assert [arm["runs"] for arm in whole["arms"]] == [3, 4] and whole["arms"][0]["ratio"] is None


def test_while_it_goes_on_nothing_is_claimed() -> None:
    whole = combine_answers(NAMES, [state("winner", "a", b="out"), state(None)], STARTS, [], is_over=False)
    assert (whole["answer"], whole["winner"]) == (None, None)
    assert whole["arms"][1]["state"] == "racing"  # under one of them


def test_file_names_workloads_with_objectives() -> None:
    text = WHICH + '[[workload]]\nname = "ladder"\nobjective = "output_tps@4"\n'
    plan = study_of_text('objective = "decode_tps"\n' + text, "two")
    parts = [(part.workload, part.objective, part.params) for part in plan.per_workload()]
    assert parts == [("five-prompts", "decode_tps", {"token_scale": 0.25}), ("ladder", "output_tps@4", {})]
    with pytest.raises(StudyFileError, match="two workloads are identical"):
        alike = 'name = "five-prompts"\nparams = {token_scale = 0.25}'
        study_of_text(text.replace('name = "ladder"', alike), "two")


def test_command_line_shows_workload_forecasts() -> None:
    parts = [state("winner", "a", b="predicted"), state("winner", "b", a="out")]
    for part in parts:
        for arm in part["arms"]:
            arm |= {"ratio": 1.0, "interval": [1.0, 1.0]}
    plan = study_of_text(WHICH, "two")
    study = Study(
        id="s", title="t", question="which", state="ended", created_at=utc_now(), updated_at=utc_now(),
        plan=plan.model_dump(mode="json"), answer=combine_answers(NAMES, parts, STARTS, [], is_over=True),
    )  # fmt: skip
    lines = as_text(study).splitlines()
    assert lines[0] == "The answer is not known yet. 7 server starts, by decode_tps under short, decode_tps under long."
    assert lines[1:4] == [
        "Under short: winner a",
        f"  {'a':<24} 1.00x best, 3 runs",
        f"  {'b':<24} predicted, not started",
    ]
    assert lines[4] == "Under long: winner b"
