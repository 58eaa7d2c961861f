"""An arm more for a study that goes on: a command, or where a setting is varied, values of it."""

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
from web.launch.host_choice import HERE
from web.markup import markdown_text

Change = Callable[[StudyPlan], StudyPlan]


def add_arm(study: Study, plan: StudyPlan) -> None:
    """Nothing for a question whose arms are given by it."""
    if plan.question in ("upgrade", "measure") or len(plan.vary) > 1:
        return
    with st.popover("Add values" if plan.vary else "Add an arm", icon=":material/add:"):
        change = _values(study, plan) if plan.vary else _command(study)
        if change is None:
            return
        try:
            changed = change(plan)
        except StudyFileError as refusal:
            st.error(markdown_text(str(refusal)))
            return
        new = ", ".join(arm.name for arm in changed.arms[len(plan.arms) :])
        st.caption(markdown_text(f"From the next round on: {new}. Each starts twice before it is held against others."))
        st.button("Add", type="primary", key=f"add-{study.id}", on_click=Once(_add), args=(study.id, change, new))


def _values(study: Study, plan: StudyPlan) -> Change | None:
    text = st.text_input(f"More values of {plan.vary[0].field}", key=f"values-{study.id}", placeholder="3, 5..7")
    return partial(with_values, text=text) if text.strip() else None


def _command(study: Study) -> Change | None:
    name = st.text_input("Its name", key=f"name-{study.id}", max_chars=80)
    command = st.text_area("Its command", key=f"command-{study.id}")
    engine = st.text_input("Its engine, where the command does not say", key=f"engine-{study.id}")
    labels = [one.label for one in HostBook(services().settings.hosts_path).all()]
    host = st.selectbox("On machine", [None, *labels], format_func=lambda one: one or HERE, key=f"host-{study.id}")
    if not (name.strip() and command.strip()):
        return None
    try:
        given = ArmText(name=name.strip(), command=command, engine=engine.strip() or None, host=host)
    except ValidationError as error:
        st.error(markdown_text(error.errors(include_url=False)[0]["msg"]))
        return None
    return partial(with_arm, given=given)


def _add(study_id: str, change: Change, new: str) -> None:
    require_operator()
    try:
        services().studies.change(study_id, change)
    except (KeyError, StudyFileError):  # it has ended, or has the arm by now
        return
    audit.record("study arm", [], f"{study_id}: {new}")
    for field in ("values", "name", "command", "engine", "host"):
        st.session_state.pop(f"{field}-{study_id}", None)
