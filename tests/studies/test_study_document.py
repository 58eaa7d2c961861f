"""docs/studies.md has a complete example of each question, and each can be begun as it stands there."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from commands.study_file import Question, StudyPlan, read_study_text, study_of_text, study_toml, title_of_arms
from tests.demo_engine import ROOT
from web.study_pages.start_form import EXAMPLE
from workloads import spec_for

EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/studies.md").read_text(), re.DOTALL)
PLANS = [study_of_text(text, "example") for text in EXAMPLES]


def test_there_is_an_example_of_each_question() -> None:
    assert sorted(plan.question for plan in PLANS) == sorted(get_args(Question))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: str(plan.question))
def test_arms_are_read_and_share_a_workload(plan: StudyPlan) -> None:
    assert len(plan.arms) == 1 if plan.question == "measure" else len(plan.arms) >= 2
    assert {arm.config.engine for arm in plan.arms} == {"vllm"} and all(arm.config.port == 8000 for arm in plan.arms)
    assert spec_for(plan.workload, plan.params).name == plan.workload


def test_value_example_varies_its_stated_field() -> None:
    (plan,) = [plan for plan in PLANS if plan.question == "value"]
    speculatives = [arm.config.speculative and arm.config.speculative.num_tokens for arm in plan.arms]
    assert speculatives == [None, 2, 3, 4, 8]
    assert plan.vary[0].most_step_gain == 1.5


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_survive_being_written_again(text: str) -> None:
    assert study_of_text(study_toml(read_study_text(text, "example")), "example") == study_of_text(text, "example")


def test_studies_are_named_after_their_arms() -> None:
    titles = {plan.question: title_of_arms(plan) for plan in PLANS}
    assert titles["value"] == "num_tokens 0, 2, 3, 4, 8"
    assert titles["which"] == "plain or mine" and titles["upgrade"] == "before or after"


def test_page_example_lists_existing_objectives() -> None:
    assert all(name in EXAMPLE for name in get_args(Question))
