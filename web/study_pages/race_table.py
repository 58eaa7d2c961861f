"""One study on the page: its arms with intervals, its next starts and its cost, with pause, resume and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from commands.study_file import StudyPlan
from domain import Run, Study
from reports.arms.report_data import study_options
from storage.queries.run_queries import runs_of_batch
from studies.cost import expected_cost
from web import audit, markup, page_paths
from web.actions import Once, is_member, is_operator, require_operator
from web.compare.url_params import DECLARED
from web.context import services
from web.markup import markdown_text
from web.sharing.report_button import report_button
from web.sharing.share_dialog import is_sharing, show_study_share_button
from web.study_pages.add_arm import show_add_arm
from web.study_pages.answer_card import answer_card
from web.study_pages.arm_sources import MAX_RUNS
from web.study_pages.race_grid import colors_of_arms, race_grid
from web.study_pages.race_words import (
    VERSIONS,
    answer_tables,
    describe_study,
    expected_end,
    headers,
    headline,
    objective_with_unit,
    table_rows,
    version_rows,
    why_next,
)
from web.times import DAYS, format_time

LOOK_S = 2.0


def show_study_card(study: Study, is_open: bool) -> None:
    """Show a study, refreshed until it ends; a folded one is not queried."""
    label = f"{markdown_text(study.title)} · {markdown_text(headline(study))}"
    section = st.expander(label, expanded=is_open, key=f"card-{study.id}", on_change="rerun")
    if not section.open:
        return
    with section:
        if study.state == "ended":
            _show_card(study)
        else:
            st.fragment(_follow, run_every=LOOK_S)(study.id, study.state)
        with st.container(horizontal=True, vertical_alignment="center"):
            if study.state != "ended" and is_operator():
                show_add_arm(study, StudyPlan.model_validate(study.plan))
            show_study_share_button(study)


def _study(study_id: str) -> Study:
    return next(study for study in services().store.studies() if study.id == study_id)


def _follow(study_id: str, shown_state: str) -> None:
    study = _study(study_id)
    if study.state != shown_state and not is_sharing():
        st.rerun()
    _show_card(study)


def _show_card(study: Study) -> None:
    plan, answer = StudyPlan.model_validate(study.plan), study.answer or {}
    runs = runs_of_batch(services().store, study.id)
    _show_head(study, plan, runs)
    for part, part_answer, (heading, arms) in zip(
        plan.per_workload(), _parts(answer), answer_tables(answer), strict=False
    ):
        if heading:
            st.markdown(markdown_text(heading))
        if grid := race_grid(part, part_answer, arms, runs):
            st.html(grid)
        if arms:
            st.html(markup.stacked_table(headers(plan), table_rows(plan, arms)))
    if is_member():  # it includes runs that no link shares
        _show_versions(answer)
    for reason in answer.get("reasons", []):
        st.caption(markdown_text(str(reason)))
    if study.state == "running":
        st.caption(markdown_text(why_next(plan, answer)))
    _show_next(study, runs)
    _show_buttons(study, [run for run in runs if run.shown_state == "finished"])


def _show_head(study: Study, plan: StudyPlan, runs: Sequence[Run]) -> None:
    """Show the answer as a card, or before it is known the leader and when the study will end."""
    text = describe_study(study, plan, sum(run.started_at is not None for run in runs))
    if study.state == "ended":
        tables = answer_tables(study.answer or {})
        arms = tables[0][1] if len(tables) == 1 else ()
        st.html(answer_card(study, plan, arms, colors_of_arms(plan, runs), [text]))
        return
    st.markdown(f"**{markdown_text(headline(study))}**")
    if study.state == "running":
        st.markdown(expected_end(study, runs, _earlier_start_s(plan, runs)))
    st.caption(markdown_text(text))


def _earlier_start_s(plan: StudyPlan, runs: Sequence[Run]) -> float | None:
    """Return the duration of a start by runs before the study; None once a start of its own has ended."""
    if any(run.ended_at and run.started_at for run in runs):
        return None
    return expected_cost(plan, services().store.runs(limit=MAX_RUNS)).start_s


def _parts(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the answer under each workload."""
    return answer.get("workloads") or [answer]


def _show_versions(answer: Mapping[str, Any]) -> None:
    for workload_answer in _parts(answer):
        if versions := version_rows(workload_answer, lambda at: format_time(at, DAYS)):
            under = f" under {workload_answer['workload']}" if "workload" in workload_answer else ""
            objective = objective_with_unit(workload_answer)
            caption = f"The same configuration across engine versions{under}, by {objective}; not ranked:"
            st.caption(markdown_text(caption))
            st.html(markup.stacked_table(VERSIONS, [[markup.text(cell) for cell in row] for row in versions]))


def _show_next(study: Study, runs: Sequence[Run]) -> None:
    """Show the running and the queued runs."""
    live_runs = [run for run in runs if run.state.is_live]
    queued = [run.name for run in runs if run.state == "queued"]
    if live_runs:
        with st.container(horizontal=True):
            for run in live_runs:
                st.page_link(page_paths.LIVE, label=f"{markdown_text(run.name)} runs now", query_params={"run": run.id})
    if queued:
        st.caption(markdown_text(f"Next: {', '.join(queued)}."))


def _show_buttons(study: Study, finished: Sequence[Run]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if finished:
            query_params = {
                "run": [run.id for run in finished],
                DECLARED: [code.value for code in study_options(study).declared],
            }
            st.page_link(page_paths.COMPARE, label="Compare its runs", query_params=query_params)
            report_button(finished, f"study-{study.id}", study=study)
        if study.state != "ended" and is_operator():
            label, state = ("Pause after this round", "paused") if study.state == "running" else ("Resume", "running")
            st.button(label, key=f"study-{study.id}", on_click=Once(_set_state), args=(study.id, state))
            st.button("End now", key=f"study-end-{study.id}", on_click=Once(_end), args=(study.id,))


def _set_state(study_id: str, state: str) -> None:
    require_operator()
    services().studies.set_state(study_id, state)
    audit.record(f"study {state}", [], study_id)


def _end(study_id: str) -> None:
    require_operator()
    services().studies.end(study_id)
    audit.record("study ended", [], study_id)
