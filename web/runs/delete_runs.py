"""Deleting runs, restoring them within a day, disk use, and the retention rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from domain import Run
from storage.files.deletions import DeletedRun
from web import page_paths
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.runs.table.disk_list import show_disk_list
from web.runs.table.ticked_runs import set_ticked
from web.runs.undo_notice import offer_undo
from web.sections import PageSection
from web.times import format_time, utc_help

DISK = "disk"  # the section's name in the URL
MAX_NAMED = 10
ABOUT = (
    "They are hidden at once. For one day Runs can restore them; then samples, logs, notes and links are gone for good."
)


def delete_button(runs: Sequence[Run], key: str) -> None:
    """The operator's button that deletes these runs after a confirmation; live runs cannot be deleted."""
    if is_operator() and st.button("Delete", key=f"delete-{key}", disabled=not runs, icon=":material/delete:"):
        confirm_deletion(runs)


def confirm_deletion(runs: Sequence[Run], is_their_page: bool = False) -> None:
    """Ask whether to delete these runs.

    is_their_page: the page shows the deleted run, so Runs is shown next; otherwise the page stays as it is.
    """
    _confirm([(run.id, run.name) for run in runs], is_their_page)


@st.dialog("Delete runs", width="medium")
def _confirm(runs: Sequence[tuple[str, str]], is_their_page: bool) -> None:
    """`runs` as (id, name)."""
    reasons_kept = services().store.bin.blocking_reasons([run_id for run_id, _ in runs])
    for run_id, name in runs:
        if run_id in reasons_kept:
            st.warning(markdown_text(f"{name} stays: {reasons_kept[run_id]}."))
    deletable = [(run_id, name) for run_id, name in runs if run_id not in reasons_kept]
    if not deletable:
        return
    and_more = f" and {len(deletable) - MAX_NAMED} more" if len(deletable) > MAX_NAMED else ""
    st.markdown(f"**{', '.join(markdown_text(name) for _, name in deletable[:MAX_NAMED])}{and_more}**")
    st.caption(ABOUT)
    if st.button(f"Delete {len(deletable)} run{'s' * (len(deletable) > 1)}", type="primary"):
        _delete_with_undo([run_id for run_id, _ in deletable])
        if is_their_page:
            st.switch_page(page_paths.RUNS)
        st.rerun()


def _delete_with_undo(run_ids: Sequence[str]) -> None:
    """Delete these runs, without their ticks, and offer to restore them."""
    blocked = delete(run_ids)
    deleted_ids = [run_id for run_id in run_ids if run_id not in blocked]
    set_ticked(deleted_ids, False)
    if deleted_ids:
        runs_text = f"{len(deleted_ids):,} run{'s' * (len(deleted_ids) != 1)}"
        offer_undo(f"{runs_text} deleted.", partial(_bring_back, deleted_ids))


def delete(run_ids: Sequence[str]) -> dict[str, str]:
    """Delete these runs; return run id -> reason for those that were kept."""
    require_operator()
    return services().store.bin.delete(run_ids, current_person())


def deleted_section() -> PageSection | None:
    """Return the operator's section with the runs that can still be restored; None if there are none."""
    store = services().store
    restorable = store.query_cache.get("deleted runs", store.bin.restorable) if is_operator() else []
    title = f"Deleted runs: {len(restorable)}"
    return PageSection("deleted", title, partial(_show_deleted, restorable)) if restorable else None


def _show_deleted(restorable: Sequence[DeletedRun]) -> None:
    st.button("Restore all", on_click=Once(_bring_back), args=([deleted_run.run.id for deleted_run in restorable],))
    for deleted_run in restorable:
        with st.container(horizontal=True, vertical_alignment="center"):
            name, deleted_at = markdown_text(deleted_run.run.name), format_time(deleted_run.deleted_at)
            st.markdown(
                f"{name}, deleted {deleted_at} by the {deleted_run.role}, "
                f"gone for good after {format_time(deleted_run.goes_at)}",
                help=utc_help(deleted=deleted_run.deleted_at, gone_after=deleted_run.goes_at),
            )
            st.button(
                "Restore",
                key=f"back-{deleted_run.run.id}",
                on_click=Once(_bring_back),
                args=([deleted_run.run.id],),
            )


def _bring_back(run_ids: Sequence[str]) -> None:
    require_operator()
    services().store.bin.restore(run_ids, current_person())


def disk_section() -> PageSection | None:
    """Return the operator's section with disk use by run, largest first, and the retention rule."""
    return PageSection(DISK, "Disk use and retention", _show_disk) if is_operator() else None


def _show_disk() -> None:
    _rule()
    show_disk_list()


def _rule() -> None:
    """The current rule and a form that changes it, with the number of runs that it would delete."""
    bin_ = services().store.bin
    days = bin_.keep_days()
    st.caption(
        "The rule never deletes starred runs or runs of a study, an adopted point or an open link. Deleted runs can be "
        "restored for one day."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        is_on = st.toggle("Delete old runs", days is not None, key="retention-on")
        input_days = int(st.number_input("Days after their end", 1, 3650, days or 90, disabled=not is_on, width=180))
        new_days = input_days if is_on else None
        if st.button("Set the rule", disabled=new_days == days, type="primary"):
            set_rule(new_days)
            st.rerun()
    outdated_count = len(bin_.outdated(input_days)) if is_on else 0
    state = f"is on: runs are deleted {days} days after their end" if days else "is off"
    st.caption(f"The rule {state}." + (f" {outdated_count} runs are older than {input_days} days." if is_on else ""))


def set_rule(days: int | None) -> None:
    """Set the retention rule; None: off."""
    require_operator()
    services().store.bin.set_keep_days(days, current_person())
