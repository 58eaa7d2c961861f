"""A study asks the guard about the values of its arms: what others' work or loops may have made is no winner."""

from __future__ import annotations

from analysis.evidence.objectives import Kind, Objective
from analysis.guard import RowCode
from reports.studies.study import _refused
from tests.comparison.hand_made import arm
from tests.comparison.test_waits import start


def test_a_study_takes_no_winner_that_others_work_made() -> None:
    """Nor is a pair refused whose values tell no difference."""
    arms, objective = {"calm": arm(start(0.0)), "held": arm(start(0.1))}, Objective(Kind.DECODE_TPS)
    clear = {"calm": (100.0, 101.0, 100.5), "held": (95.0, 95.5, 96.0)}
    (rows,) = _refused(arms, objective, clear, 0.02).values()
    assert [row.code for row in rows] == [RowCode.STARVATION]
    assert _refused(arms, objective, clear | {"held": (90.0, 110.0, 95.0)}, 0.02) == {}
    assert _refused(arms, objective, {}, 0.02) == {}
