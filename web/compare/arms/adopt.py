"""Adopting an operating point from a comparison, and the list of adopted points on Compare and Runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.verdict import VerdictAnswer
from domain import AdoptedPoint, AuditEntry, Run, new_run_id
from reports.arms.adopted_points import active_points, describe_point, mask_line, points_about
from reports.arms.comparison import ComparisonReport
from web import page_paths
from web.access.roles import current_person
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.sections import PageSection
from web.times import DAYS, format_time

NOTHING = "nothing"
MAX_CHARS = 500


def adopted_notes(runs: Sequence[Run]) -> None:
    """A line for each current adopted point that involves these runs."""
    if not is_operator():
        return
    for point in points_about(active_points(services().store.adopted()), runs):
        st.caption(markdown_text(describe_point(point)))


def winner_id(report: ComparisonReport) -> str:
    """Return the id of the arm that is better than the first by most; of the first arm if none is."""
    better = [
        answer for answer in report.answers if answer.judgement and answer.judgement.answer is VerdictAnswer.BETTER
    ]
    sign = 1 if report.objective.terms.higher_is_better else -1
    best = max(better, key=lambda answer: sign * (answer.judgement.ratio if answer.judgement else 1.0), default=None)
    return best.pair.contender.id if best else report.arms[0].id


def adopt_form(report: ComparisonReport, runs: Sequence[Run]) -> None:
    """The operator's popover that adopts an arm, by default the winner; nothing if none can be started again."""
    by_id = {run.id: run for run in runs}
    choices = {arm.id: arm for arm in report.arms if arm.id in by_id and by_id[arm.id].config.argv}
    if not is_operator() or not choices:
        return
    with st.popover("Adopt", icon=":material/flag:", key="adopt"):
        st.caption("Record which configuration is used from now on, and why. Records are added, never changed.")
        proposed = list(choices).index(winner_id(report)) if winner_id(report) in choices else 0
        arm_id = st.selectbox(
            "Arm", list(choices), proposed, format_func=lambda arm_key: choices[arm_key].name, key="adopt-arm"
        )
        earlier = {point.id: point for point in active_points(services().store.adopted())}
        with st.form("adopt-form", border=False):
            reason = st.text_area("Why", max_chars=MAX_CHARS, placeholder="fastest at eight users, quality the same")
            purpose = st.text_input("For what", max_chars=MAX_CHARS, placeholder="coding agents, 96K context")
            adopter = st.text_input("Who", max_chars=MAX_CHARS, placeholder="the operator")
            replaced_id = st.selectbox(
                "In place of", [NOTHING, *earlier], format_func=lambda point_id: _point_label(point_id, earlier)
            )
            pressed = st.form_submit_button("Adopt it", type="primary")
        if pressed:
            _adopt(
                choices[arm_id],
                by_id[arm_id],
                reason,
                purpose,
                adopter,
                None if replaced_id == NOTHING else replaced_id,
            )


def _point_label(point_id: str, earlier: Mapping[str, AdoptedPoint]) -> str:
    if point_id == NOTHING:
        return NOTHING
    point = earlier[point_id]
    return f"{point.name}, {format_time(point.adopted_at, DAYS)}" + (f", for {point.purpose}" if point.purpose else "")


def _adopt(arm: Arm, run: Run, reason: str, purpose: str, adopter: str, supersedes: str | None) -> None:
    if not mask_line(reason):
        st.warning("Give a reason: a decision without one is not stored.")
        return
    adopt(arm, run, mask_line(reason), mask_line(purpose) or None, mask_line(adopter) or "the operator", supersedes)
    st.rerun()


def adopt(
    arm: Arm, run: Run, reason: str, purpose: str | None, adopter: str, supersedes: str | None = None
) -> AdoptedPoint:
    """Store the point and record it in the audit; operator only. run: the arm's first run."""
    require_operator()
    adopted_at, run_ids = datetime.now(UTC), tuple(run_facts.run_id for run_facts in arm.runs)
    role = current_person()
    point = AdoptedPoint(
        id=new_run_id(adopted_at),
        name=arm.name,
        purpose=purpose,
        reason=reason,
        config=run.config,
        workload=run.workload,
        run_ids=run_ids,
        adopted_by=adopter,
        role=role,
        adopted_at=adopted_at,
        supersedes=supersedes,
    )
    detail = f"{point.name} as {point.id}" + (f" in place of {supersedes}" if supersedes else "")
    services().store.adopt(point, [AuditEntry(adopted_at, role, "adopt", run_id, detail) for run_id in run_ids])
    return point


def adopted_section() -> PageSection | None:
    """Return the operator's section of Runs with all points; None if there are none."""
    store = services().store
    points = store.query_cache.get("adopted points", store.adopted) if is_operator() else []
    title = f"Adopted operating points: {len(active_points(points))}"
    return PageSection("adopted", title, partial(_show_points, points)) if points else None


def _show_points(points: Sequence[AdoptedPoint]) -> None:
    """Show the points, current ones first, with links to start from them and to their evidence."""
    current_ids = {point.id for point in active_points(points)}
    for point in sorted(points, key=lambda point: point.id not in current_ids):
        with st.container(horizontal=True, vertical_alignment="center", key=f"adopted-{point.id}"):
            st.markdown(markdown_text(describe_point(point, points)))
            st.page_link(page_paths.LAUNCH, label="Start from it", query_params={"adopted": point.id})
            page = page_paths.COMPARE if len(point.run_ids) > 1 else page_paths.RUN
            st.page_link(page, label="Its evidence", query_params={"run": list(point.run_ids)})
