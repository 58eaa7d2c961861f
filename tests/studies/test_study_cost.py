"""The expected cost of a study before its first start."""

from __future__ import annotations

import pytest

from commands.study_file import study_of_text
from studies.cost import expected_cost
from tests.studies.test_study_file import ONE_ARM, WHICH


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (WHICH, (4, 12)),  # two starts of each, at most its budget
        (WHICH.replace("runs = 12", "runs = 12\nrounds = 3"), (4, 6)),
        (WHICH.replace("runs = 12", "runs = 3"), (3, 3)),
        (ONE_ARM.replace('"value"', '"measure"').replace("runs = 12", "rounds = 4"), (4, 4)),
    ],
)
def test_starts_are_two_an_arm_to_the_budget(text: str, starts: tuple[int, int]) -> None:
    cost = expected_cost(study_of_text(text, "s"), [])
    assert cost.starts == starts and cost.start_s is None and cost.basis == "no run of this workload has finished yet"
