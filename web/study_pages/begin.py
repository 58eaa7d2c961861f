"""Begin a study from its file: pasted, or uploaded."""

from __future__ import annotations

import shutil

import streamlit as st

from commands.recipe.quality import Tools
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
from workloads.process.driven import tool_of
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


def new_study(is_open: bool) -> None:
    """A form that says what is wrong with the text, before anything starts."""
    with st.expander("Begin a study", expanded=is_open, icon=":material/flag:"):
        st.caption(
            "Arms start in rounds, one server start each, in an order that rotates. After each round an arm that is "
            "proven slower leaves; it ends with a winner, with 'the same', or with the budget."
        )
        label = "Its file (TOML), or a recipe of vLLM's perf-eval (YAML)"
        text = st.text_area(label, key="study-text", height=260, placeholder=EXAMPLE)
        if not text.strip():
            return
        try:
            plan = _recipe(text) if is_recipe(text) else study_of_text(text, "study")
            words = _words(plan)
        except (StudyFileError, UnknownLoadError, HostError, PlanError) as refusal:
            st.error(markdown_text(str(refusal)))
            return
        st.caption(markdown_text(words))
        for note in plan.notes:
            st.caption(markdown_text(note))
        if st.button("Begin", type="primary", key="begin-study"):
            _begin(plan)


def _recipe(text: str) -> StudyPlan:
    """With what its other tools are here, and what is left out of it."""
    with st.container(horizontal=True):
        lm_eval = st.text_input("lm-eval on this machine", shutil.which("lm_eval") or "lm_eval", key="recipe-lm-eval")
        bfcl = st.text_input("A Python that has bfcl-eval", key="recipe-bfcl", placeholder="/path/to/python")
        help_words = "A block or one part of it: bfcl, bfcl.multi_turn, vllm_bench.8k-in-1k-out"
        without = st.text_input("Leave out", key="recipe-without", help=help_words, placeholder="bfcl, lm_eval.gsm8k")
    left_out = [word.strip() for word in without.split(",") if word.strip()]
    return study_of_recipe(text, "recipe", Tools(lm_eval.strip() or "lm_eval", bfcl.strip() or None), left_out)


def _words(plan: StudyPlan) -> str:
    """'3 arms under Five prompts, at most 12 starts.' Raises as check_plan does."""
    check_plan(plan, HostBook(services().settings.hosts_path))
    parts = plan.under_each()
    loads = " and ".join(map(_load, parts))
    arms = ", ".join(f"{arm.name} on {arm.host}" if arm.host else arm.name for arm in plan.arms)
    if plan.is_proposed:
        return (
            f"{plan.trials} of {plan.combinations} combinations under {loads}, one start each as Optuna proposes them; "
            f"then the best race. At most {plan.budget.runs} starts."
        )
    shared = ", each of which serves all workloads" if len(parts) > 1 else ""
    count = f"{len(plan.arms)} arm{'s' * (len(plan.arms) > 1)}"
    return f"{count} ({arms}) under {loads}, at most {plan.budget.runs} starts{shared}."


def _load(part: StudyPlan) -> str:
    """'Five prompts (18 requests a start)', 'short: Grid (8 requests a start)', 'lm-eval (gsm8k)'."""
    called = "" if part.workload_title == part.workload else f"{part.workload_title}: "
    if tool := tool_of(part.workload):
        return f"{called}{tool.title} ({part.params.get('tasks', '')})"
    requests = forecast(part.workload, part.params, 50.0).requests
    return f"{called}{REGISTRY[part.workload].title} ({requests} requests a start)"


def _begin(plan: StudyPlan) -> None:
    require_operator()
    study = services().studies.begin(plan)
    audit.record("study", [], study.id)
    st.query_params["study"] = study.id
    st.rerun()
