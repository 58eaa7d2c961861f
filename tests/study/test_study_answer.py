"""What a study says where nothing is known: a reason that its starts bear."""

from __future__ import annotations

import math

import pytest

from analysis.study import End, race
from commands.study_file import study_of_text
from reports.studies.study import StudyStanding
from studies.answer import ended_answer
from tests.study.test_study_file import WHICH


@pytest.mark.parametrize(
    ("values", "failed", "reason"),
    [
        ({"a": [100.0], "b": [90.0]}, [], "Not every arm has two starts with a value"),
        ({"a": [100.0, 101.0], "b": []}, ["b"], "Only a runs: there is nothing to hold it against."),
        ({"a": [100.0, 140.0], "b": [90.0, 130.0]}, [], "differ too much among themselves"),
    ],
)
def test_a_study_without_an_answer_says_why(values: dict[str, list[float]], failed: list[str], reason: str) -> None:
    logs = {name: [math.log(one) for one in its] for name, its in values.items()}
    standing = StudyStanding(
        race(logs, 0.02, failed), {name: tuple(its) for name, its in values.items()}, "decode_tps", {"a": (), "b": ()}
    )
    told = ended_answer(study_of_text(WHICH, "w"), [standing], ["The budget of 2 runs is spent."])
    assert told["answer"] == End.UNKNOWN and reason in told["reasons"][1]
