"""Deleting runs, bringing them back for a day, what they take of the disk, and the rule that deletes old ones."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from web import places
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.kept import fold
from web.markup import markdown_text
from web.moments import in_utc, moment
from web.runs.table.disk_list import disk_list, forget_measured

MOST_NAMED = 10
ABOUT = "They are hidden at once. For a day Runs can bring them back; then samples, logs, notes and links go for good."


def delete_button(runs: Sequence[Run], key: str, is_their_page: bool = False) -> None:
    """The operator's button that deletes these runs after one more question; live ones cannot be.

    is_their_page: what is shown goes with them, so Runs is shown next; else the page stays as it is, filters and all.
    """
    if is_operator() and st.button("Delete", key=f"delete-{key}", disabled=not runs, icon=":material/delete:"):
        _confirm([(run.id, run.name) for run in runs], is_their_page)


@st.dialog("Delete runs", width="medium")
def _confirm(runs: Sequence[tuple[str, str]], is_their_page: bool) -> None:
    """`runs` as (id, name)."""
    kept = services().store.bin.why_kept([run_id for run_id, _ in runs])
    for run_id, name in runs:
        if run_id in kept:
            st.warning(markdown_text(f"{name} stays: {kept[run_id]}."))
    going = [(run_id, name) for run_id, name in runs if run_id not in kept]
    if not going:
        return
    more = f" and {len(going) - MOST_NAMED} more" if len(going) > MOST_NAMED else ""
    st.markdown(f"**{', '.join(markdown_text(name) for _, name in going[:MOST_NAMED])}{more}**")
    st.caption(ABOUT)
    if st.button(f"Delete {len(going)} run{'s' * (len(going) > 1)}", type="primary"):
        delete([run_id for run_id, _ in going])
        if is_their_page:
            st.switch_page(places.RUNS)
        st.rerun()


def delete(run_ids: Sequence[str]) -> dict[str, str]:
    """Delete these runs; why some were kept."""
    require_operator()
    return services().store.bin.delete(run_ids, current_person())


def deleted_runs() -> None:
    """The runs that can still be brought back; nothing where there is none."""
    waiting = services().store.bin.waiting() if is_operator() else []
    if not waiting:
        return
    with fold(f"Deleted runs: {len(waiting)}", "deleted", "runs"):
        st.button("Bring all back", on_click=Once(_bring_back), args=([one.run.id for one in waiting],))
        for one in waiting:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(
                    f"{markdown_text(one.run.name)}, deleted {moment(one.deleted_at)} by the {one.role}, "
                    f"gone for good after {moment(one.goes_at)}",
                    help=in_utc(deleted=one.deleted_at, gone_after=one.goes_at),
                )
                st.button("Bring back", key=f"back-{one.run.id}", on_click=Once(_bring_back), args=([one.run.id],))


def _bring_back(run_ids: Sequence[str]) -> None:
    require_operator()
    services().store.bin.bring_back(run_ids, current_person())


def disk_and_rule() -> None:
    """What the runs take of the disk, the largest first, and the retention rule; measured only when it is opened."""
    if not is_operator():
        return
    section = fold("Disk use and retention", "disk", "runs")
    if section.open:
        with section:
            _rule()
            disk_list()
    else:
        forget_measured()


def _rule() -> None:
    """The rule as it stands, and a form that sets it; what it would delete is said before it is set."""
    bin_ = services().store.bin
    days = bin_.keep_days()
    st.caption(
        "The rule never touches starred runs, nor those of a study, an adopted point or an open link. What it deletes "
        "can be brought back for a day too."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        is_on = st.toggle("Delete old runs", days is not None, key="retention-on")
        wanted = int(st.number_input("Days after their end", 1, 3650, days or 90, disabled=not is_on, width=180))
        chosen = wanted if is_on else None
        if st.button("Set the rule", disabled=chosen == days, type="primary"):
            set_rule(chosen)
            st.rerun()
    found = len(bin_.outdated(wanted)) if is_on else 0
    state = f"is on: runs go {days} days after their end" if days else "is off"
    st.caption(f"The rule {state}." + (f" {found} runs are older than {wanted} days." if is_on else ""))


def set_rule(days: int | None) -> None:
    """Set the retention rule; None: no run is deleted by a rule."""
    require_operator()
    services().store.bin.set_keep_days(days, current_person())
