"""Begin a study from its file: pasted, or uploaded."""

from __future__ import annotations

import streamlit as st

from commands.study_file import StudyFileError, StudyPlan, study_of_text
from web import audit
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text
from workloads import REGISTRY
from workloads.forecast import forecast
from workloads.texts.prompt_file import PlanError

EXAMPLE = """question = "which"                 # which | value | load | upgrade
smallest_difference = 0.02
[budget]
runs = 12
[[arm]]
name = "plain"
command = "vllm serve MODEL --port 8000"
[[arm]]
name = "n-gram"
command = "vllm serve MODEL --port 8000 --speculative-config '{...}'"
[[workload]]
name = "five-prompts"
[workload.params]
token_scale = 0.25
"""


def new_study(is_open: bool) -> None:
    """A form that says what is wrong with the text, before anything starts."""
    with st.expander("Begin a study", expanded=is_open, icon=":material/flag:"):
        st.caption(
            "Arms start in rounds, one server start each, in an order that rotates. After each round an arm that is "
            "proven slower leaves; it ends with a winner, with 'the same', or with the budget."
        )
        text = st.text_area("Its file (TOML)", key="study-text", height=260, placeholder=EXAMPLE)
        if not text.strip():
            return
        try:
            plan = study_of_text(text, "study")
            words = _words(plan)
        except (StudyFileError, PlanError, ValueError) as refusal:
            st.error(markdown_text(str(refusal)))
            return
        st.caption(markdown_text(words))
        if st.button("Begin", type="primary", key="begin-study"):
            _begin(plan)


def _words(plan: StudyPlan) -> str:
    """'3 arms under Five prompts, at most 12 starts.' Raises ValueError for a workload that there is not."""
    parts = plan.under_each()
    if unknown := [part.workload for part in parts if part.workload not in REGISTRY]:
        raise ValueError(f"There is no workload {unknown[0]!r}: it is one of {', '.join(REGISTRY)}.")
    loads = " and ".join(
        f"{REGISTRY[part.workload].title} ({forecast(part.workload, part.params, 50.0).requests} requests a start)"
        for part in parts
    )
    arms = ", ".join(arm.name for arm in plan.arms)
    shared = ", each of which serves all workloads" if len(parts) > 1 else ""
    return f"{len(plan.arms)} arms ({arms}) under {loads}, at most {plan.budget.runs} starts{shared}."


def _begin(plan: StudyPlan) -> None:
    require_operator()
    study = services().studies.begin(plan)
    audit.record("study", [], study.id)
    st.query_params["study"] = study.id
    st.rerun()
