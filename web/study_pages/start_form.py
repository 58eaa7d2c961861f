"""The study being written, as a form and as its file, with what it will cost and the button that begins it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from commands.recipe.quality import QualityTools
from commands.recipe.recipe_study import is_recipe, study_of_recipe
from commands.study_file import StudyFileError, StudyPlan, study_of_text, title_of_arms
from launcher.remote.hosts import HostBook, HostError
from load_records import AGENT_TASK
from studies.cost import StudyCost, expected_cost
from studies.plan_check import UnknownLoadError, check_plan
from web import audit
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.study_pages import study_draft, study_form
from web.study_pages.arm_sources import MAX_RUNS, source_of_run, with_arms
from web.study_pages.race_words import rough_duration
from web.study_pages.study_draft import StudyDraft
from web.url_presses import set_url_params
from workloads import REGISTRY
from workloads.agent_tasks.task_params import task_title
from workloads.forecast import forecast
from workloads.process.external_tools import tool_of
from workloads.texts.prompt_file import PlanError

AGAINST = "against"  # `/studies?against=<run>&against=<run>`: these runs are the arms
ADDRESS_KEY = "study-address"  # the arms that the address named last
SECONDS_PER_HOUR = 3600
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
    """Show the study being written as a form and as its file, and what is wrong with it before anything starts."""
    is_requested = _follow_address()
    is_written = is_requested or bool(study_draft.current().study_text.arm)
    with st.expander("Begin a study", expanded=is_open or is_written, icon=":material/flag:"):
        st.caption(
            "Arms start in rounds, one server start each, in rotating order. After each round, an arm that is "
            "proven slower drops out. The study ends with a winner, with equivalent arms, or with the budget."
        )
        form_tab, text_tab = st.tabs(["Form", "TOML"])
        with form_tab:
            is_complete = study_form.show_study_form()
        with text_tab:
            label = "Study file (TOML), or a vLLM perf-eval recipe (YAML)"
            key, read_text = study_draft.TEXT_KEY, study_draft.read_text
            st.text_area(label, key=key, height=260, placeholder=EXAMPLE, on_change=read_text)
        draft = study_draft.current()
        if draft.text.strip():
            _show_plan(draft, [text_tab, *([form_tab] if is_complete else [])])


def _follow_address() -> bool:
    """Take the runs of `/studies?against=<run>&against=<run>` as arms, once; return whether there are any."""
    run_ids = st.query_params.get_all(AGAINST)
    if run_ids and st.session_state.get(ADDRESS_KEY) != run_ids:
        runs = [run for run_id in run_ids if (run := services().store.run(run_id))]
        sources = [source_of_run(run) for run in runs]
        workloads = [source.workload for source in sources if source.workload]
        study_draft.begin_with(with_arms([], [source.arm for source in sources]), next(iter(workloads), None))
        st.session_state[ADDRESS_KEY] = run_ids  # last: a press may end this run of the script anywhere before
        if len(runs) < len(run_ids):
            st.warning("A run of this link is not known here: it may belong to another Pitwall.")
    return bool(run_ids)


def _show_plan(draft: StudyDraft, error_places: Sequence[DeltaGenerator]) -> None:
    """Show what the plan costs and the button that begins it, or at these places what is wrong with it."""
    try:
        plan = _read_plan(draft)
        summary = _summary(plan)
    except (StudyFileError, UnknownLoadError, HostError, PlanError) as refusal:
        for place in error_places:
            place.error(markdown_text(str(refusal)))
        return
    st.caption(markdown_text(summary))
    st.caption(markdown_text(cost_text(plan, expected_cost(plan, services().store.runs(limit=MAX_RUNS)))))
    for note in plan.notes:
        st.caption(markdown_text(note))
    st.button("Begin", type="primary", key="begin-study", on_click=Once(_begin), args=(plan,))


def _read_plan(draft: StudyDraft) -> StudyPlan:
    """Return the plan of the text; a study without a title is named after its arms. Raises StudyFileError."""
    if is_recipe(draft.text):
        return _recipe_plan(draft.text)
    plan = study_of_text(draft.text, "study")
    return plan if draft.study_text.title else plan.model_copy(update={"title": title_of_arms(plan)})


def cost_text(plan: StudyPlan, cost: StudyCost) -> str:
    """Return 'Expected: 4 to 12 starts, about 8 to 24 min (...).', within the budget."""
    low, high = cost.starts
    starts = f"{low} to {high} starts" if low < high else f"{high} starts"
    if cost.start_s is None:
        return f"Expected: {starts}; the time is not known: {cost.basis}."
    most_s = plan.budget.hours * SECONDS_PER_HOUR if plan.budget.hours else math.inf
    ends_s = [min(most_s, cost.start_s * count) for count in (low, high)]
    between = " to ".join(dict.fromkeys(map(rough_duration, ends_s)))
    return f"Expected: {starts}, about {between} ({cost.basis})."


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
    if part.workload == AGENT_TASK:
        return f"{prefix}Agent task {task_title(part.params)}"
    requests = forecast(part.workload, part.params, 50.0).requests
    return f"{prefix}{REGISTRY[part.workload].title} ({requests} requests per start)"


def _begin(plan: StudyPlan) -> None:
    require_operator()
    study = services().studies.begin(plan)
    audit.record("study", [], study.id)
    study_draft.clear()
    st.session_state.pop(ADDRESS_KEY, None)
    set_url_params({"study": [study.id]})
