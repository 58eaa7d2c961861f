"""A study asks the guard about the values of its arms: what others' work or loops may have made is no winner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.guard import RowCode
from commands.study_file import StudyPlan, study_of_text
from reports.studies.study import _refused
from tests.analysis.comparison.hand_made import arm
from tests.analysis.comparison.ideal_engine import SERVED
from tests.analysis.comparison.test_waits import start
from tests.studies.test_study_file import WHICH

DECODE = Objective(ObjectiveKind.DECODE_TPS)
CLEAR = {"a": (100.0, 101.0, 100.5), "b": (95.0, 95.5, 96.0)}


def plan_of(host: str | None = None) -> StudyPlan:
    text = WHICH if host is None else WHICH.replace('name = "b"', f'name = "b"\nhost = "{host}"')
    return study_of_text(text, "w").model_copy(update={"margin": 0.02})


def test_foreign_work_makes_no_winner() -> None:
    """Nor is a pair refused whose values tell no difference."""
    arms, plan = {"a": arm(start(0.0)), "b": arm(start(0.1))}, plan_of()
    (rows,) = _refused(arms, DECODE, CLEAR, plan).values()
    assert [row.code for row in rows] == [RowCode.STARVATION]
    assert _refused(arms, DECODE, CLEAR | {"b": (90.0, 110.0, 95.0)}, plan) == {}
    assert _refused(arms, DECODE, {}, plan) == {}


@pytest.mark.parametrize(("host", "codes"), [("gpu-box", []), (None, [RowCode.HARDWARE])])
def test_machines_compared_only_when_named(host: str | None, codes: list[RowCode]) -> None:
    there = replace(start(0.0), served=replace(SERVED, machine_id="another", gpus=("another GPU",)))
    refused = _refused({"a": arm(start(0.0)), "b": arm(there)}, DECODE, CLEAR, plan_of(host))
    assert [row.code for rows in refused.values() for row in rows] == codes
