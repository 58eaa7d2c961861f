"""`[[require]]`: an arm whose answers certainly agree less with the first arm's than required is out, no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.comparison.arms import Arm
from commands.study_file import StudyFileError, StudyPlan, read_study_text, study_of_text, study_toml
from reports.studies.requirements import requirement_causes, unmeasured_arms
from studies.plan_check import UnknownLoadError, required_specs
from studies.runner import StudyRunner
from tests.analysis.comparison.hand_made import arm
from tests.analysis.guard.test_quality import start
from tests.studies.test_shared_starts import CLOSE, standing
from tests.studies.test_study_file import WHICH
from workloads import spec_for

REQUIRED = WHICH + "\n[[require]]\nagreement = 0.97\nparams = {texts = 16}\n"


def plan_of(text: str = REQUIRED) -> StudyPlan:
    return study_of_text(text, "w")


def arms(changed_share: float | None) -> dict[str, Arm]:
    return {"a": arm(start("a", 0.0), start("a2", 0.0, 1)), "b": arm(start("b", changed_share, 2))}


@pytest.mark.parametrize(("changed_share", "is_out"), [(0.10, True), (0.03, False), (0.0, False), (None, False)])
def test_arm_is_out_where_its_interval_lies_below(changed_share: float | None, is_out: bool) -> None:
    causes = requirement_causes(plan_of(), arms(changed_share))
    assert list(causes) == (["b"] if is_out else [])
    if is_out:
        assert causes["b"].startswith("its first choice is that of a at 9") and "97.0 % are required" in causes["b"]


def test_unmeasured_arms_stay_and_are_named() -> None:
    assert unmeasured_arms(plan_of(), arms(None)) == ["b"]
    assert unmeasured_arms(plan_of(), arms(0.1)) == []
    assert unmeasured_arms(plan_of(WHICH), arms(None)) == []


def test_study_without_requirement_judges_no_answers() -> None:
    assert requirement_causes(plan_of(WHICH), arms(0.5)) == {}


def test_each_start_measures_its_answers(tmp_path: Path) -> None:
    nothing: Any = None
    runner = StudyRunner(nothing, nothing, tmp_path, spec_for)
    specs = runner._specs(plan_of(), [standing(CLOSE, {})])
    assert [(spec.name, spec.params.get("texts")) for spec in specs] == [("five-prompts", None), ("fidelity", 16)]


def test_requirement_survives_its_file() -> None:
    study_text = read_study_text(REQUIRED, "w")
    assert plan_of(study_toml(study_text)).require == plan_of().require
    assert StudyPlan.model_validate(plan_of().model_dump(mode="json")).require == plan_of().require


def test_a_measurement_of_one_arm_requires_nothing() -> None:
    single = REQUIRED.replace('question = "which"', 'question = "measure"')
    with pytest.raises(StudyFileError, match="measure"):
        plan_of(single)


def test_wrong_parameters_of_the_load_are_refused_before_a_start() -> None:
    wrong = plan_of(REQUIRED.replace("texts = 16", "texts = -1"))
    with pytest.raises(UnknownLoadError, match="fidelity is invalid: texts"):
        required_specs(wrong, spec_for)
