"""The study being written on the Studies page: one text behind two views, the form and the study file (TOML)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from commands.recipe.recipe_study import is_recipe
from commands.study_file import ArmText, StudyFileError, StudyText, read_study_text, study_toml
from commands.study_workloads import WorkloadText
from load_records import AGENT_TASK
from web.actions import is_operator
from workloads import REGISTRY

TEXT_KEY = "study-text"
RECIPE = "A vLLM perf-eval recipe"
FORM_FIELDS = {"question", "title", "smallest_difference", "objective", "budget", "prices", "arm", "workload"}


@dataclass
class StudyDraft:
    """The draft of this browser session."""

    text: str = ""
    study_text: StudyText = field(default_factory=StudyText)
    problem: str | None = None  # why the text cannot be read
    form_generation: int = 0  # part of the form's widget keys: a new one recreates it with the draft's values
    arm_generation: int = 0  # likewise of the list of arms

    @property
    def workload(self) -> WorkloadText | None:
        return self.study_text.workload[0] if self.study_text.workload else None

    @property
    def objective(self) -> str | None:
        """The objective of the first workload, or else of the study; None: the workload's own."""
        return (self.workload.objective if self.workload else None) or self.study_text.objective


def current() -> StudyDraft:
    """Return this session's draft; restore its text in the box when the user returns to the page."""
    draft: StudyDraft = st.session_state.setdefault("study-draft", StudyDraft())
    st.session_state.setdefault(TEXT_KEY, draft.text)
    return draft


def read_text() -> None:
    """Read the edited text; the form then shows it."""
    draft = current()
    draft.text, draft.problem = st.session_state[TEXT_KEY], None
    try:
        draft.study_text = StudyText() if is_recipe(draft.text) else read_study_text(draft.text, "study")
    except StudyFileError as refusal:
        draft.problem = str(refusal)
    draft.form_generation += 1
    draft.arm_generation += 1


def edit(**changes: object) -> None:
    """Apply a change of the form, and write it into the text."""
    draft = current()
    draft.study_text = draft.study_text.model_copy(update=changes)
    draft.text = st.session_state[TEXT_KEY] = study_toml(draft.study_text)


def edit_arms(arms: Sequence[ArmText]) -> None:
    """Replace the arms, whose inputs are then created anew."""
    edit(arm=list(arms))
    current().arm_generation += 1


def begin_with(arms: Sequence[ArmText], workload: WorkloadText | None) -> None:
    """Begin a new draft with these arms and this workload."""
    draft = current()
    draft.study_text, draft.problem = StudyText(workload=[workload] if workload else []), None
    draft.form_generation += 1
    edit_arms(arms)


def clear() -> None:
    """Empty both views."""
    begin_with([], None)
    current().text = st.session_state[TEXT_KEY] = ""


def unshowable_parts(draft: StudyDraft) -> list[str]:
    """Return what the form cannot show, so that the study can be edited as text only."""
    if is_recipe(draft.text):
        return [RECIPE]
    study_text = draft.study_text
    parts = ["[[vary]] and the question 'value'"] if study_text.vary or study_text.question == "value" else []
    parts += ["more than one [[workload]]"] if len(study_text.workload) > 1 else []
    names = [*REGISTRY, *([AGENT_TASK] if is_operator() else [])]
    return parts + [f"the workload {load.name!r}" for load in study_text.workload[:1] if load.name not in names]


def retained_parts(study_text: StudyText) -> list[str]:
    """Return the stated settings that the form leaves as they are, such as 'seed' or 'env of b'."""
    names = [name for name in study_text.model_dump(exclude_defaults=True) if name not in FORM_FIELDS]
    budget = study_text.budget.model_dump(exclude_defaults=True)
    names += [f"budget.{name}" for name in budget if name not in ("runs", "hours")]
    for arm in study_text.arm:
        stated_fields = arm.model_dump(exclude_defaults=True)
        names += [f"{name} of {arm.name}" for name in ("base_url", "env", "host") if name in stated_fields]
    return names
