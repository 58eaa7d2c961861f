"""One study on the page: who is in, the intervals, what comes next, what it has cost; pause, go on, end now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from commands.study_file import StudyPlan
from domain import Run, Study
from reports.arms.report_data import asking_of
from storage.ask.run_queries import runs_of_batch
from web import audit, markup, places
from web.actions import Once, is_member, is_operator, require_operator
from web.compare.asking import DECLARED
from web.context import services
from web.markup import markdown_text
from web.moments import DAYS, moment
from web.report.button import report_button
from web.sharing.share_dialog import is_sharing, share_study_button
from web.study_pages.add_arm import add_arm
from web.study_pages.race_words import (
    VERSIONS,
    about,
    head,
    headers,
    outlook,
    parts,
    rows,
    version_rows,
    why_next,
    with_unit,
)

LOOK_S = 2.0


def study_card(study: Study, is_open: bool) -> None:
    """Followed while it goes on; of one that is folded away nothing is asked."""
    label = f"{markdown_text(study.title)} · {markdown_text(head(study))}"
    section = st.expander(label, expanded=is_open, key=f"card-{study.id}", on_change="rerun")
    if not section.open:
        return
    with section:
        if study.state == "ended":
            _card(study)
        else:
            st.fragment(_followed, run_every=LOOK_S)(study.id, study.state)
        with st.container(horizontal=True, vertical_alignment="center"):
            if study.state != "ended" and is_operator():
                add_arm(study, StudyPlan.model_validate(study.plan))
            share_study_button(study)


def _study(study_id: str) -> Study:
    return next(one for one in services().store.studies() if one.id == study_id)


def _followed(study_id: str, drawn: str) -> None:
    study = _study(study_id)
    if study.state != drawn and not is_sharing():
        st.rerun()
    _card(study)


def _card(study: Study) -> None:
    plan, answer = StudyPlan.model_validate(study.plan), study.answer or {}
    runs = runs_of_batch(services().store, study.id)
    st.markdown(f"**{markdown_text(head(study))}**")
    st.caption(markdown_text(about(study, plan, len(runs))))
    for words, arms in parts(answer):
        if words:
            st.markdown(markdown_text(words))
        if arms:
            st.html(markup.stacked_table(headers(plan), rows(plan, arms)))
    if is_member():  # starts of other runs are in it, which no link shares
        _over_versions(answer)
    for reason in answer.get("reasons", []):
        st.caption(markdown_text(str(reason)))
    if study.state == "running":
        st.caption(outlook(study, runs))
        st.caption(markdown_text(why_next(plan, answer)))
    _next(study, runs)
    _buttons(study, [run for run in runs if run.state == "finished"])


def _over_versions(answer: Mapping[str, Any]) -> None:
    for one in answer.get("workloads") or [answer]:
        if versions := version_rows(one, lambda at: moment(at, DAYS)):
            under = f" under {one['workload']}" if "workload" in one else ""
            words = f"The same configuration over engine versions{under}, by {with_unit(one)}; shown, not ranked:"
            st.caption(markdown_text(words))
            st.html(markup.stacked_table(VERSIONS, [[markup.text(cell) for cell in row] for row in versions]))


def _next(study: Study, runs: Sequence[Run]) -> None:
    """What runs now and what waits."""
    going = [run for run in runs if run.state.is_live]
    queued = [run.name for run in runs if run.state == "queued"]
    if going:
        with st.container(horizontal=True):
            for run in going:
                st.page_link(places.LIVE, label=f"{markdown_text(run.name)} runs now", query_params={"run": run.id})
    if queued:
        st.caption(markdown_text(f"Next: {', '.join(queued)}."))


def _buttons(study: Study, finished: Sequence[Run]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if finished:
            asked = {"run": [run.id for run in finished], DECLARED: [code.value for code in asking_of(study).declared]}
            st.page_link(places.COMPARE, label="Compare its runs", query_params=asked)
            report_button(finished, f"study-{study.id}", study=study)
        if study.state != "ended" and is_operator():
            word, state = ("Pause after this round", "paused") if study.state == "running" else ("Go on", "running")
            st.button(word, key=f"study-{study.id}", on_click=Once(_set), args=(study.id, state))
            st.button("End it now", key=f"study-end-{study.id}", on_click=Once(_end), args=(study.id,))


def _set(study_id: str, state: str) -> None:
    require_operator()
    services().studies.set_state(study_id, state)
    audit.record(f"study {state}", [], study_id)


def _end(study_id: str) -> None:
    require_operator()
    services().studies.end(study_id)
    audit.record("study ended", [], study_id)
