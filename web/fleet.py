"""Runs of other machines on the pages, read from a configured lake; for the operator only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

import streamlit as st

from domain import Run
from errors import PitwallError
from storage.queries import run_queries
from storage.queries.machine_queries import machines
from storage.queries.run_data import Queryable
from storage.queries.run_queries import RunFilter
from web.actions import is_operator
from web.context import services
from web.markup import markdown_text

SCOPE, ALL = "machines", "all"
OTHER_MACHINE_NOTE = (
    "From another machine, read from the lake: repeat, share and annotate it on the Pitwall that measured it."
)
SCOPES = {"mine": "This Pitwall", ALL: "All machines"}


def can_read_fleet() -> bool:
    """Whether the viewer may see other machines' runs."""
    fleet = services().fleet
    return is_operator() and fleet is not None and fleet.is_configured


def store_for_runs(runs: Sequence[Run], with_earlier: bool = False) -> Queryable:
    """Return the store to query for these runs: this store or a copy from the lake; stop the page if that fails."""
    fleet = services().fleet
    if fleet is None or not can_read_fleet():
        return services().store
    try:
        return fleet.queryable_for([run.id for run in runs], with_earlier)
    except PitwallError as error:
        st.error(f"The lake does not answer: {markdown_text(str(error))}")
        st.stop()


def away_runs(run_ids: Sequence[str]) -> list[Run]:
    """Return those of these runs that this store lacks; none, with a warning, if the lake does not answer."""
    fleet = services().fleet
    away = _missing_ids(run_ids)
    if fleet is None or not away or not can_read_fleet():
        return []
    try:
        return fleet.runs_of(away)
    except PitwallError as error:
        st.warning(f"The lake does not answer: {markdown_text(str(error))}")
        return []


def link_to_home_pages(runs: Sequence[Run]) -> None:
    """Say that these runs are from other machines, with links to their own Pitwalls if those reported an address."""
    st.caption(OTHER_MACHINE_NOTE)
    with st.container(horizontal=True):
        for run in runs:
            if address := home_url(run, _urls()):
                st.link_button(f"{markdown_text(run.name)} on its own Pitwall", address, type="tertiary")


def home_url(run: Run, urls: Mapping[str, str]) -> str | None:
    """Return the run's page on the Pitwall that measured it; None unless that is known to be its machine's.

    A run that was attached, or launched over ssh, may belong to the Pitwall of another machine.
    """
    url = urls.get(run.machine_id, "")
    if run.kind != "launched" or run.on_host or urlsplit(url).scheme not in ("http", "https"):
        return None
    return f"{url}/run?run={quote(run.id)}"


def _urls() -> dict[str, str]:
    """Return machine id -> URL reported by its Pitwall; none if the lake does not answer."""
    fleet = services().fleet
    try:
        return {row.machine_id: row.url for row in machines(fleet) if row.url} if fleet else {}
    except PitwallError:
        return {}


def away_ids(runs: Sequence[Run]) -> set[str]:
    """Return the ids of those runs that this store lacks."""
    return set(_missing_ids([run.id for run in runs])) if can_read_fleet() else set()


def _missing_ids(run_ids: Sequence[str]) -> list[str]:
    local_ids = {run.id for run in services().store.runs_of(run_ids)}
    return [run_id for run_id in run_ids if run_id not in local_ids]


def newest_fleet_runs(max_runs: int) -> list[Run]:
    """Return the newest ended runs of all machines; none, with a warning, if the lake does not answer."""
    fleet = services().fleet
    try:
        return run_queries.find_runs(fleet, RunFilter(), max_runs) if fleet else []
    except PitwallError as error:
        st.warning(f"The lake does not answer: {markdown_text(str(error))}")
        return []


def choose_scope() -> Queryable:
    """Return the store that a list shows: this one or that of all machines, by a switch kept in the URL."""
    fleet = services().fleet
    if fleet is None or not can_read_fleet():
        return services().store
    current_scope = st.query_params.get(SCOPE, "mine")
    selected = st.segmented_control(
        "Runs of",
        list(SCOPES),
        default=current_scope if current_scope in SCOPES else "mine",
        format_func=SCOPES.__getitem__,
        key="scope",
    )
    if selected != ALL:
        st.query_params.pop(SCOPE, None)
        return services().store
    st.query_params[SCOPE] = ALL
    return fleet if _answers(fleet) else services().store


def _answers(fleet: Queryable) -> bool:
    try:
        run_queries.run_choices(fleet)
    except PitwallError as error:
        st.warning(f"The lake does not answer; only this Pitwall's runs are listed: {markdown_text(str(error))}")
        return False
    return True
