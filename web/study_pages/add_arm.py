"""Adds to a running study an arm by its command, or values of the setting that the study varies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st
from pydantic import ValidationError

from commands.study_change import with_arm, with_values
from commands.study_file import ArmText, StudyFileError, StudyPlan
from domain import Study
from launcher.remote.hosts import HostBook
from web import audit
from web.actions import Once, require_operator
from web.context import services
from web.launch.host_choice import THIS_MACHINE
from web.markup import markdown_text

Change = Callable[[StudyPlan], StudyPlan]


def show_add_arm(study: Study, plan: StudyPlan) -> None:
    """Show the form, except for questions whose arms are fixed."""
    if plan.question in ("upgrade", "measure") or len(plan.vary) > 1:
        return
    with st.popover("Add values" if plan.vary else "Add an arm", icon=":material/add:"):
        change = _values(study, plan) if plan.vary else _command(study)
        if change is None:
            return
        try:
            new_plan = change(plan)
        except StudyFileError as refusal:
            st.error(markdown_text(str(refusal)))
            return
        new_names = ", ".join(arm.name for arm in new_plan.arms[len(plan.arms) :])
        st.caption(markdown_text(f"From the next round on: {new_names}. Each starts twice before it is compared."))
        st.button("Add", type="primary", key=f"add-{study.id}", on_click=Once(_add), args=(study.id, change, new_names))


def _values(study: Study, plan: StudyPlan) -> Change | None:
    text = st.text_input(f"More values of {plan.vary[0].field}", key=f"values-{study.id}", placeholder="3, 5..7")
    return partial(with_values, text=text) if text.strip() else None


def _command(study: Study) -> Change | None:
    name = st.text_input("Name", key=f"name-{study.id}", max_chars=80)
    command = st.text_area("Command", key=f"command-{study.id}")
    engine = st.text_input("Engine, if the command does not show it", key=f"engine-{study.id}")
    labels = [entry.label for entry in HostBook(services().settings.hosts_path).all()]
    host = st.selectbox(
        "On machine", [None, *labels], format_func=lambda label: label or THIS_MACHINE, key=f"host-{study.id}"
    )
    if not (name.strip() and command.strip()):
        return None
    try:
        arm_text = ArmText(name=name.strip(), command=command, engine=engine.strip() or None, host=host)
    except ValidationError as error:
        st.error(markdown_text(error.errors(include_url=False)[0]["msg"]))
        return None
    return partial(with_arm, arm_text=arm_text)


def _add(study_id: str, change: Change, names: str) -> None:
    require_operator()
    try:
        services().studies.change(study_id, change)
    except (KeyError, StudyFileError):  # it has ended, or already has the arm
        return
    audit.record("study arm", [], f"{study_id}: {names}")
    for field in ("values", "name", "command", "engine", "host"):
        st.session_state.pop(f"{field}-{study_id}", None)
