"""The form that starts a study from the text of its file."""

from __future__ import annotations

import shutil

import streamlit as st

from commands.recipe.quality import QualityTools
from commands.recipe.recipe_study import is_recipe, study_of_recipe
from commands.study_file import StudyFileError, StudyPlan, study_of_text
from launcher.remote.hosts import HostBook, HostError
from studies.plan_check import UnknownLoadError, check_plan
from web import audit
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text
from workloads import REGISTRY
from workloads.forecast import forecast
from workloads.process.external_tools import tool_of
from workloads.texts.prompt_file import PlanError

EXAMPLE = """question = "which"                 # which | value | load | upgrade | measure
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


def show_new_study(is_open: bool) -> None:
    """Show the form, which reports errors in the text before anything starts."""
    with st.expander("Begin a study", expanded=is_open, icon=":material/flag:"):
        st.caption(
            "Arms start in rounds, one server start each, in rotating order. After each round, an arm that is "
            "proven slower drops out. The study ends with a winner, with equivalent arms, or with the budget."
        )
        label = "Study file (TOML), or a vLLM perf-eval recipe (YAML)"
        text = st.text_area(label, key="study-text", height=260, placeholder=EXAMPLE)
        if not text.strip():
            return
        try:
            plan = _recipe_plan(text) if is_recipe(text) else study_of_text(text, "study")
            summary = _summary(plan)
        except (StudyFileError, UnknownLoadError, HostError, PlanError) as refusal:
            st.error(markdown_text(str(refusal)))
            return
        st.caption(markdown_text(summary))
        for note in plan.notes:
            st.caption(markdown_text(note))
        if st.button("Begin", type="primary", key="begin-study"):
            _begin(plan)


def _recipe_plan(text: str) -> StudyPlan:
    """Return a recipe's plan, with the paths of its tools on this machine and the blocks to leave out."""
    with st.container(horizontal=True):
        lm_eval = st.text_input("lm-eval on this machine", shutil.which("lm_eval") or "lm_eval", key="recipe-lm-eval")
        bfcl = st.text_input("Python with bfcl-eval", key="recipe-bfcl", placeholder="/path/to/python")
        help_text = "A block or a part of one: bfcl, bfcl.multi_turn, vllm_bench.8k-in-1k-out"
        left_out_text = st.text_input(
            "Leave out", key="recipe-without", help=help_text, placeholder="bfcl, lm_eval.gsm8k"
        )
    left_out = [word.strip() for word in left_out_text.split(",") if word.strip()]
    return study_of_recipe(text, "recipe", QualityTools(lm_eval.strip() or "lm_eval", bfcl.strip() or None), left_out)


def _summary(plan: StudyPlan) -> str:
    """Return a summary such as '3 arms under Five prompts, at most 12 starts.' Raises the errors of check_plan."""
    check_plan(plan, HostBook(services().settings.hosts_path))
    parts = plan.per_workload()
    loads = " and ".join(map(_load_label, parts))
    arms = ", ".join(f"{arm.name} on {arm.host}" if arm.host else arm.name for arm in plan.arms)
    if plan.is_proposed:
        return (
            f"{plan.trials} of {plan.combinations} combinations under {loads}, one start each in the order in which "
            f"Optuna proposes them; then the best ones race. At most {plan.budget.runs} starts."
        )
    shared = ", each serving all workloads" if len(parts) > 1 else ""
    count = f"{len(plan.arms)} arm{'s' * (len(plan.arms) > 1)}"
    return f"{count} ({arms}) under {loads}, at most {plan.budget.runs} starts{shared}."


def _load_label(part: StudyPlan) -> str:
    """Return a label such as 'Five prompts (18 requests per start)', 'short: Grid (...)' or 'lm-eval (gsm8k)'."""
    prefix = "" if part.workload_title == part.workload else f"{part.workload_title}: "
    if tool := tool_of(part.workload):
        return f"{prefix}{tool.title} ({part.params.get('tasks', '')})"
    requests = forecast(part.workload, part.params, 50.0).requests
    return f"{prefix}{REGISTRY[part.workload].title} ({requests} requests per start)"


def _begin(plan: StudyPlan) -> None:
    require_operator()
    study = services().studies.begin(plan)
    audit.record("study", [], study.id)
    st.query_params["study"] = study.id
    st.rerun()
