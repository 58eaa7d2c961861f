"""An arm more for a study that goes on, and how long that will probably take."""

from __future__ import annotations

import math

import pytest

from analysis.study import StartsLeft, race, starts_left
from commands.study_change import is_grown_from, with_arm, with_choice, with_values
from commands.study_file import ArmText, StudyFileError, StudyPlan, study_of_text
from tests.studies.test_study_file import ONE_ARM, WHICH

THIRD = ArmText(name="c", command="vllm serve o/m --port 8003")


def values_of(field: str = "max_num_seqs", values: str = "[1, 2]") -> StudyPlan:
    return study_of_text(f'{ONE_ARM}[[vary]]\nfield = "{field}"\nvalues = {values}\n', "v")


def test_an_arm_and_values_join_the_others() -> None:
    told = with_arm(study_of_text(WHICH, "w"), THIRD)
    assert [arm.name for arm in told.arms] == ["a", "b", "c"]
    longer = with_values(values_of(), "4..5")
    assert [arm.name for arm in longer.arms] == [f"max_num_seqs {n}" for n in (1, 2, 4, 5)]
    assert [arm.config.max_num_seqs for arm in longer.arms] == longer.vary[0].values == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("plan", "text", "sentence"),
    [
        (values_of(), "2", "already has an arm 'max_num_seqs 2'"),
        (values_of(), "many", "cannot be tried: many is not a value"),
        (values_of(), "10..60", "have at most 32 arms"),
        (study_of_text(WHICH, "w"), "2", "if a single setting is varied"),
    ],
)
def test_values_that_cannot_join_are_refused(plan: StudyPlan, text: str, sentence: str) -> None:
    with pytest.raises(StudyFileError, match=sentence):
        with_values(plan, text)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (study_of_text(WHICH.replace('"which"', '"upgrade"'), "u"), "exactly two arms"),
        (values_of(), "add a value instead"),
        (study_of_text(WHICH.replace('name = "b"', 'name = "c"'), "w"), "already has an arm 'c'"),
    ],
)
def test_an_arm_that_cannot_join_is_refused(plan: StudyPlan, sentence: str) -> None:
    with pytest.raises(StudyFileError, match=sentence):
        with_arm(plan, THIRD)


def left_of(values: dict[str, list[float]], rounds: int = 8, starts: int = 30) -> StartsLeft:
    logs = {name: [math.log(one) for one in value] for name, value in values.items()}
    return starts_left(race(logs, 0.02), logs, 0.02, rounds, starts)


def test_unknown_costs_make_budget_the_limit() -> None:
    assert left_of({"a": [], "b": []}) == (4, 16)
    assert left_of({"a": [], "b": []}, starts=6) == (4, 6)
    assert left_of({"a": [100.0, 101.0], "b": [99.0]}) == (1, 16)


def test_means_and_spread_give_remaining_starts() -> None:
    close = {"a": [100.0, 103.0], "b": [99.0, 102.0]}
    apart = {"a": [100.0, 104.0], "b": [118.0, 122.0]}
    assert left_of(apart).low == left_of(close).low == 2
    assert left_of(apart).high < left_of(close).high == 16
    assert left_of({"a": [100.0, 100.1], "b": [130.0, 130.1]}) == (0, 0)  # it has ended


def test_extended_plan_still_matches_its_file() -> None:
    """So that the same command, after a kill, goes on with it and begins no second study."""
    study, value, other_values = study_of_text(WHICH, "w"), values_of(), values_of(values="[1, 3]")
    assert is_grown_from(study, study) and is_grown_from(with_arm(study, THIRD), study)
    assert is_grown_from(with_values(value, "4"), value)
    assert not is_grown_from(value, with_values(value, "4")) and not is_grown_from(other_values, value)
    assert not is_grown_from(study.model_copy(update={"margin": 0.5}), study)
    more = "".join(f'[[vary]]\nfield = "{field}"\nvalues = [512, 1024]\n' for field in
                   ("max_num_batched_tokens", "max_model_len"))  # fmt: skip
    several = study_of_text(f'{ONE_ARM}[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 2]\n{more}', "s")
    assert is_grown_from(with_choice(several, (1, 0, 1)), several)
