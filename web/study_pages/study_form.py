"""The form of a study: question, arms, load, objective and budget; every edit is written into the study file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import get_args

import streamlit as st

from analysis.evidence.objectives import TERMS, Objective, ObjectiveKind, UnknownObjectiveError, parse_objective
from commands.study_file import (
    ACCURACY,
    RESULTS,
    SOLVED,
    USERS_HELD,
    ArmText,
    PriceText,
    Question,
    StudyFileError,
    arm_of,
)
from commands.study_workloads import WorkloadText
from web.actions import Once
from web.loads.forms.load_choice import choose_workload, is_complete
from web.markup import markdown_text
from web.study_pages import study_draft
from web.study_pages.arm_sources import (
    MAX_NAME,
    ArmSource,
    arm_of_command,
    arm_sources,
    stated_params,
    ticked_labels,
    with_arms,
)
from web.study_pages.race_words import OBJECTIVES, QUESTIONS
from web.study_pages.study_draft import StudyDraft
from workloads.saved_loads import SavedLoad
from workloads.shapes.five_prompts import FIVE_PROMPTS

ARMS_NEEDED = {"which": "two or more", "load": "two or more", "upgrade": "two: before and after", "measure": "one"}
MINUTES_PER_HOUR = 60.0
PERCENT_BOUNDS = (0.01, 99.9)
MINUTES_BOUNDS = (0.1, 30 * 24 * MINUTES_PER_HOUR)
CURRENCY = "EUR"  # until another one is typed
COMMAND_HEIGHT = 96  # pixels


def show_study_form() -> bool:
    """Show the draft as a form, or say which part of it the form cannot show; return whether no field is wrong."""
    draft = study_draft.current()
    if draft.problem:
        st.info("The form appears once the TOML can be read.")
        return False
    if parts := study_draft.unshowable_parts(draft):
        st.info(markdown_text(f"The form cannot show {' or '.join(parts)}. Edit this study under TOML."))
        return True
    _show_question(draft)
    _pick_arms(draft, arm_sources())
    has_arms = _show_arms(draft)
    _show_load(draft)
    has_objective = _show_decision(draft)
    if retained := study_draft.retained_parts(draft.study_text):
        st.caption(markdown_text(f"Kept as in the TOML: {', '.join(retained)}."))
    return has_arms and has_objective


def _key(draft: StudyDraft, name: str) -> str:
    return f"study-{name}-{draft.form_generation}"


def _show_question(draft: StudyDraft) -> None:
    left_column, right_column = st.columns([3, 2])
    title_key, kind_key = _key(draft, "title"), _key(draft, "question")
    left_column.text_input(
        "Question",
        draft.study_text.title or "",
        max_chars=200,
        placeholder="made from the arms",
        key=title_key,
        on_change=lambda: study_draft.edit(title=st.session_state[title_key].strip() or None),
    )
    questions = [question for question in get_args(Question) if question in ARMS_NEEDED]
    right_column.selectbox(
        "Kind of question",
        questions,
        questions.index(draft.study_text.question),
        format_func=QUESTIONS.__getitem__,
        key=kind_key,
        on_change=lambda: study_draft.edit(question=st.session_state[kind_key]),
    )


def _pick_arms(draft: StudyDraft, sources: Mapping[str, ArmSource]) -> None:
    """Tick earlier runs and presets, or paste a command: each becomes an arm."""
    left_column, right_column = st.columns([3, 2])
    key, paste_key = f"{_key(draft, 'arms')}-{draft.arm_generation}", _key(draft, "paste")
    ticked = ticked_labels(sources, draft.study_text.arm)
    is_current = _generation_check(draft)

    def tick() -> None:
        if not is_current():
            return
        labels = st.session_state[key]
        removed = {(sources[label].command, sources[label].host) for label in ticked if label not in labels}
        remaining = [arm for arm in draft.study_text.arm if (arm.command, arm.host) not in removed]
        new_sources = [sources[label] for label in labels if label not in ticked]
        _propose_load(draft, new_sources)
        study_draft.edit_arms(with_arms(remaining, [source.arm for source in new_sources]))

    def paste() -> None:
        if command := st.session_state[paste_key].strip():
            arms = draft.study_text.arm
            study_draft.edit_arms([*arms, arm_of_command(command, {arm.name for arm in arms})])
            st.session_state[paste_key] = ""

    left_column.multiselect(
        "Arms from earlier runs and presets",
        list(sources),
        ticked,
        key=key,
        on_change=tick,
        placeholder=f"{len(sources)} to choose from",
        select_all=False,
    )
    right_column.text_area(
        "Another arm: paste its command",
        key=paste_key,
        height=COMMAND_HEIGHT,
        placeholder="vllm serve Qwen/Qwen3-8B --port 8000",
        on_change=paste,
    )


def _generation_check(draft: StudyDraft) -> Callable[[], bool]:
    """Return a check that the list of arms is still this one: a slow browser also sends widgets that were replaced."""
    generation = draft.arm_generation
    return lambda: draft.arm_generation == generation


def _propose_load(draft: StudyDraft, new_sources: list[ArmSource]) -> None:
    """Take the load of the first ticked run, if none is chosen yet."""
    workloads = [source.workload for source in new_sources if source.workload]
    if workloads and not draft.workload:
        study_draft.edit(workload=workloads[:1])
        draft.form_generation += 1


def _show_arms(draft: StudyDraft) -> bool:
    """Show each arm with its name and command, and below it what is wrong with it; return whether nothing is."""
    arms = draft.study_text.arm
    counts = Counter(arm.name for arm in arms)
    problems = [_problem_of(arm, counts) for arm in arms]
    for number, (arm, problem) in enumerate(zip(arms, problems, strict=True)):
        _show_arm(draft, number, arm)
        if problem:
            st.error(markdown_text(problem))
    needed = ARMS_NEEDED[draft.study_text.question]
    is_enough = len(arms) == {"measure": 1, "upgrade": 2}.get(draft.study_text.question, max(2, len(arms)))
    if not is_enough:
        count = f"{len(arms)} arm{'s' * (len(arms) > 1)} so far" if arms else "No arm yet"
        st.caption(f"{count}. This question needs {needed}.")
    return is_enough and not any(problems)


def _show_arm(draft: StudyDraft, number: int, arm: ArmText) -> None:
    keys = {name: f"arm-{name}-{draft.arm_generation}-{number}" for name in ("name", "command", "remove")}
    is_current = _generation_check(draft)

    def change(name: str) -> None:
        if is_current() and (text := st.session_state[keys[name]].strip()):
            arms = [*draft.study_text.arm]
            arms[number] = arms[number].model_copy(update={name: text})
            study_draft.edit(arm=arms)

    def remove() -> None:
        study_draft.edit_arms([other for place, other in enumerate(draft.study_text.arm) if place != number])

    with st.container(key=f"study-arm-{number}"):
        name_column, command_column, remove_column = st.columns([3, 8, 1], vertical_alignment="top")
        name_column.text_input(
            f"Arm {number + 1}", arm.name, max_chars=MAX_NAME, key=keys["name"], on_change=change, args=("name",)
        )
        command_column.text_area(
            f"Command of arm {number + 1}",
            arm.command,
            height=COMMAND_HEIGHT,
            key=keys["command"],
            on_change=change,
            args=("command",),
        )
        remove_column.button(
            "",
            icon=":material/close:",
            type="tertiary",
            key=keys["remove"],
            help=f"Remove arm {number + 1}",
            on_click=Once(remove),
        )


def _problem_of(arm: ArmText, counts: Mapping[str, int]) -> str | None:
    """Return what is wrong with an arm, as a sentence."""
    if counts[arm.name] > 1:
        return f"Another arm is also named {arm.name!r}."
    try:
        arm_of(arm)
    except StudyFileError as refusal:
        return str(refusal)
    return None


def _show_load(draft: StudyDraft) -> None:
    workload = draft.workload or WorkloadText(name=FIVE_PROMPTS.name)
    proposed = SavedLoad(workload=workload.name, params=workload.params)
    selected = choose_workload(proposed, _key(draft, "load"), "Load of every start", may_run_task=True)
    if not is_complete(selected.workload, selected.params):
        st.caption(f"Until the task is complete, the study keeps its load: {workload.name}.")
        return
    params = stated_params(selected.workload, selected.params)
    is_changed = selected.workload != workload.name or params != stated_params(workload.name, workload.params)
    if is_changed or (draft.study_text.arm and not draft.workload):
        label = workload.label if selected.workload == workload.name else None
        update = {"name": selected.workload, "params": params, "label": label}
        study_draft.edit(workload=[workload.model_copy(update=update)])


def _show_decision(draft: StudyDraft) -> bool:
    """Show what decides: objective, smallest difference and budget; return whether the objective exists."""
    study_text = draft.study_text
    objective_column, difference_column, starts_column, minutes_column = st.columns([3, 2, 2, 2])
    with objective_column:
        has_objective = _show_objective(draft)
    difference_key, starts_key = _key(draft, "difference"), _key(draft, "starts")
    minutes_key = _key(draft, "minutes")
    difference_column.number_input(
        "Smallest difference that matters, %",
        *PERCENT_BOUNDS,
        _within(study_text.smallest_difference * 100, PERCENT_BOUNDS),
        step=0.5,
        disabled=study_text.question == "measure",
        key=difference_key,
        on_change=lambda: study_draft.edit(smallest_difference=round(st.session_state[difference_key] / 100, 6)),
    )
    starts_column.number_input(
        "Most server starts",
        2,
        1000,
        study_text.budget.runs,
        key=starts_key,
        on_change=lambda: _edit_budget(runs=int(st.session_state[starts_key])),
    )
    hours = study_text.budget.hours
    minutes_column.number_input(
        "Most minutes",
        *MINUTES_BOUNDS,
        None if hours is None else _within(hours * MINUTES_PER_HOUR, MINUTES_BOUNDS),
        step=10.0,
        placeholder="no limit",
        key=minutes_key,
        on_change=lambda: _edit_budget(hours=_hours(st.session_state[minutes_key])),
    )
    if draft.objective == ObjectiveKind.SESSION_COST:
        _show_prices(draft)
    return has_objective


def _show_prices(draft: StudyDraft) -> None:
    """Show the prices that become part of the plan, and so of its answer."""
    prices = draft.study_text.prices or PriceText(currency=CURRENCY)
    hour_column, kwh_column, currency_column = st.columns([3, 3, 2])
    hour_key, kwh_key, currency_key = (_key(draft, name) for name in ("per-hour", "per-kwh", "currency"))

    def change() -> None:
        values = {"per_hour": st.session_state[hour_key] or None, "per_kwh": st.session_state[kwh_key] or None}
        currency = st.session_state[currency_key].strip() or CURRENCY
        study_draft.edit(prices=PriceText(currency=currency, **values))

    for column, label, value, key in (
        (hour_column, "Price of the machine, an hour", prices.per_hour, hour_key),
        (kwh_column, "Price of electricity, a kWh", prices.per_kwh, kwh_key),
    ):
        column.number_input(
            label, 0.0, None, value, step=0.01, format="%g", placeholder="not counted", key=key, on_change=change
        )
    currency_column.text_input("Currency", prices.currency, max_chars=8, key=currency_key, on_change=change)


def _within(value: float, bounds: tuple[float, float]) -> float:
    """Return what the input can show of a value of the file."""
    return min(bounds[1], max(bounds[0], round(value, 3)))


def _hours(minutes: float | None) -> float | None:
    return None if minutes is None else minutes / MINUTES_PER_HOUR


def _edit_budget(**changes: object) -> None:
    study_draft.edit(budget=study_draft.current().study_text.budget.model_copy(update=changes))


def _show_objective(draft: StudyDraft) -> bool:
    """Show the objectives of the question; a concurrency is typed: ttft_ms@8. Return whether the chosen one exists."""
    key, objective = _key(draft, "objective"), draft.objective
    options = list(dict.fromkeys([None, *_objective_names(draft.study_text.question), objective]))

    def change() -> None:
        name = st.session_state[key]
        loads = [load.model_copy(update={"objective": None}) for load in draft.study_text.workload]
        study_draft.edit(objective=name, workload=loads)

    st.selectbox(
        "Decide by",
        options,
        options.index(objective),
        format_func=_objective_title,
        accept_new_options=True,
        key=key,
        on_change=change,
        help="A number of concurrent requests is typed: ttft_ms@8",
    )
    try:
        if objective and objective not in RESULTS:
            parse_objective(objective)
    except UnknownObjectiveError as refusal:
        st.error(markdown_text(str(refusal)))
        return False
    return True


def _objective_names(question: str) -> list[str]:
    """Return the objectives without a concurrency, of one request at a time, and the question's own."""
    extra_objectives = {"load": [USERS_HELD], "measure": [ACCURACY, SOLVED]}.get(question, [SOLVED])
    kinds = [Objective(kind, 1 if terms.needs_concurrency else None) for kind, terms in TERMS.items()]
    return [*extra_objectives, *(objective.name for objective in kinds)]


def _objective_title(name: str | None) -> str:
    """Return 'the workload's own objective' or 'time to first token, one at a time (ms)'."""
    if not name or name in OBJECTIVES:
        text = OBJECTIVES[name or ""]
        return text[:1].upper() + text[1:]
    try:
        objective = parse_objective(name)
    except UnknownObjectiveError:
        return name
    return f"{objective.title[:1].upper()}{objective.title[1:]} ({objective.terms.unit})"
