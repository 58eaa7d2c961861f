"""A start that failed because Pitwall's store did not take its record is not the arm's failure."""

from __future__ import annotations

import pytest

from commands.study_file import study_of_text
from domain import STORE_REFUSED, Run, RunState
from reports.studies.study import study_statuses
from storage.store import Store
from studies.answer import answer_of
from tests.studies.test_shared_starts import start
from tests.studies.test_study_file import WHICH


def failed_starts(cause: str) -> list[Run]:
    return [start("a", number, "five-prompts", state=RunState.FAILED, cause=cause) for number in (1, 2)]


@pytest.mark.parametrize(("cause", "is_out"), [("out of memory", True), (STORE_REFUSED, False)])
def test_own_failures_exclude_no_arm_and_are_told(store: Store, cause: str, is_out: bool) -> None:
    plan = study_of_text(WHICH, "which")
    statuses = study_statuses(store, plan, failed_starts(cause))
    assert (statuses[0].causes == {"a": cause}) is is_out
    assert ("a" in statuses[0].race.next_arms) is not is_out
    reasons = [str(reason) for reason in answer_of(plan, statuses)["reasons"]]  # type: ignore[union-attr]
    assert any(reason.startswith("2 starts of a failed because Pitwall's") for reason in reasons) is not is_out
