"""Adopting an operating point from a comparison, and the points that were adopted, on Compare and Runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st

from analysis.comparison.arms import Arm
from domain import AdoptedPoint, AuditEntry, Run, new_run_id
from reports.arms.adopted import about, masked, point_words, standing
from web import places
from web.access.roles import current_person
from web.actions import is_operator, require_operator
from web.context import services
from web.kept import fold
from web.markup import markdown_text
from web.moments import DAYS, moment

NOTHING = "nothing"
LONGEST = 500


def adopted_notes(runs: Sequence[Run]) -> None:
    """A line for every standing point that is about these runs."""
    if not is_operator():
        return
    for point in about(standing(services().store.adopted()), runs):
        st.caption(markdown_text(point_words(point)))


def adopt_form(arms: Sequence[Arm], runs: Sequence[Run]) -> None:
    """The operator's popover that adopts one of these arms; nothing while none can be started again."""
    by_id = {run.id: run for run in runs}
    choices = {arm.id: arm for arm in arms if arm.id in by_id and by_id[arm.id].config.argv}
    if not is_operator() or not choices:
        return
    with st.popover("Adopt", icon=":material/flag:", key="adopt"):
        st.caption("Write down which configuration is used from now on, and why. Records are added, never changed.")
        arm_id = st.selectbox("Arm", list(choices), format_func=lambda one: choices[one].name, key="adopt-arm")
        earlier = {one.id: one for one in standing(services().store.adopted())}
        with st.form("adopt-form", border=False):
            reason = st.text_area("Why", max_chars=LONGEST, placeholder="fastest at eight users, quality the same")
            purpose = st.text_input("For what", max_chars=LONGEST, placeholder="coding agents, 96K context")
            who = st.text_input("Who", max_chars=LONGEST, placeholder="the operator")
            place = st.selectbox("In place of", [NOTHING, *earlier], format_func=lambda one: _named(one, earlier))
            pressed = st.form_submit_button("Adopt it", type="primary")
        if pressed:
            _adopt(choices[arm_id], by_id[arm_id], reason, purpose, who, None if place == NOTHING else place)


def _named(point_id: str, earlier: Mapping[str, AdoptedPoint]) -> str:
    if point_id == NOTHING:
        return NOTHING
    one = earlier[point_id]
    return f"{one.name}, {moment(one.adopted_at, DAYS)}" + (f", for {one.purpose}" if one.purpose else "")


def _adopt(arm: Arm, run: Run, reason: str, purpose: str, who: str, supersedes: str | None) -> None:
    if not masked(reason):
        st.warning("Say why: a decision without its reason is not kept.")
        return
    adopt(arm, run, masked(reason), masked(purpose) or None, masked(who) or "the operator", supersedes)
    st.rerun()


def adopt(
    arm: Arm, run: Run, reason: str, purpose: str | None, who: str, supersedes: str | None = None
) -> AdoptedPoint:
    """Keep the point and write it down in the audit; for the operator only. `run` is the arm's first."""
    require_operator()
    now, evidence = datetime.now(UTC), tuple(one.run_id for one in arm.runs)
    role = current_person()
    point = AdoptedPoint(
        id=new_run_id(now),
        name=arm.name,
        purpose=purpose,
        reason=reason,
        config=run.config,
        workload=run.workload,
        run_ids=evidence,
        adopted_by=who,
        role=role,
        adopted_at=now,
        supersedes=supersedes,
    )
    detail = f"{point.name} as {point.id}" + (f" in place of {supersedes}" if supersedes else "")
    services().store.adopt(point, [AuditEntry(now, role, "adopt", run_id, detail) for run_id in evidence])
    return point


def adopted_section() -> None:
    """All points on the Runs page, those that stand first, each with the ways on; nothing while there is none."""
    points = services().store.adopted() if is_operator() else []
    if not points:
        return
    with fold(f"Adopted operating points: {len(standing(points))}", "adopted", "runs"):
        stand = {one.id for one in standing(points)}
        for point in sorted(points, key=lambda one: one.id not in stand):
            with st.container(horizontal=True, vertical_alignment="center", key=f"adopted-{point.id}"):
                st.markdown(markdown_text(point_words(point, points)))
                st.page_link(places.LAUNCH, label="Start from it", query_params={"adopted": point.id})
                page = places.COMPARE if len(point.run_ids) > 1 else places.RUN
                st.page_link(page, label="Its evidence", query_params={"run": list(point.run_ids)})
