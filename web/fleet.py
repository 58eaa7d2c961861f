"""Runs of other machines on the pages, where a lake is configured; for the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

import streamlit as st

from domain import Run
from errors import PitwallError
from storage.ask import run_queries
from storage.ask.machine_queries import machines
from storage.ask.queries import Asked
from storage.ask.run_queries import RunFilter
from web.actions import is_operator
from web.context import services
from web.markup import markdown_text

SCOPE, ALL = "machines", "all"
OF_ANOTHER = (
    "Of another machine, read from the lake: it is repeated, shared and annotated on the Pitwall that measured it."
)
SCOPES = {"mine": "This Pitwall", ALL: "All machines"}


def reads_fleet() -> bool:
    """Whether whoever looks may see other machines' runs."""
    fleet = services().fleet
    return is_operator() and fleet is not None and fleet.is_configured


def asked_about(runs: Sequence[Run], with_earlier: bool = False) -> Asked:
    """What answers about these runs: this store, or a copy from the lake; the page stops where it does not answer."""
    fleet = services().fleet
    if fleet is None or not reads_fleet():
        return services().store
    try:
        return fleet.asked_about([run.id for run in runs], with_earlier)
    except PitwallError as error:
        st.error(f"The lake does not answer: {markdown_text(str(error))}")
        st.stop()


def away_runs(run_ids: Sequence[str]) -> list[Run]:
    """Those of these runs that this store does not have; none, and a sentence, where the lake does not answer."""
    fleet = services().fleet
    away = _not_here(run_ids)
    if fleet is None or not away or not reads_fleet():
        return []
    try:
        return fleet.runs_of(away)
    except PitwallError as error:
        st.warning(f"The lake does not answer: {markdown_text(str(error))}")
        return []


def link_to_others(runs: Sequence[Run]) -> None:
    """That these runs are other machines', with a link to each on its own Pitwall where that has given its address."""
    st.caption(OF_ANOTHER)
    with st.container(horizontal=True):
        for run in runs:
            if address := home_of(run, _urls()):
                st.link_button(f"{markdown_text(run.name)} on its own Pitwall", address, type="tertiary")


def home_of(run: Run, urls: Mapping[str, str]) -> str | None:
    """The run's page on the Pitwall that measured it; None where that is not known to be the one of its machine.

    A run that was attached, or launched by ssh, may belong to the Pitwall of another machine.
    """
    url = urls.get(run.machine_id, "")
    if run.kind != "launched" or run.on_host or urlsplit(url).scheme not in ("http", "https"):
        return None
    return f"{url}/run?run={quote(run.id)}"


def _urls() -> dict[str, str]:
    """Machine id -> the address that the Pitwall there reported; none where the lake does not answer."""
    fleet = services().fleet
    try:
        return {row.machine_id: row.url for row in machines(fleet) if row.url} if fleet else {}
    except PitwallError:
        return {}


def away_ids(runs: Sequence[Run]) -> set[str]:
    """The ids of those of the runs that this store does not have."""
    return set(_not_here([run.id for run in runs])) if reads_fleet() else set()


def _not_here(run_ids: Sequence[str]) -> list[str]:
    here = {run.id for run in services().store.runs_of(run_ids)}
    return [run_id for run_id in run_ids if run_id not in here]


def newest_of_all(most: int) -> list[Run]:
    """The newest runs of all machines that have ended; none where the lake does not answer."""
    fleet = services().fleet
    try:
        return run_queries.find_runs(fleet, RunFilter(), most) if fleet else []
    except PitwallError as error:
        st.warning(f"The lake does not answer: {markdown_text(str(error))}")
        return []


def scope_asked() -> Asked:
    """Whose runs a list shows: this store's or all machines', by a switch where there is a lake; in the address."""
    fleet = services().fleet
    if fleet is None or not reads_fleet():
        return services().store
    now = st.query_params.get(SCOPE, "mine")
    chosen = st.segmented_control(
        "Runs of", list(SCOPES), default=now if now in SCOPES else "mine", format_func=SCOPES.__getitem__, key="scope"
    )
    if chosen != ALL:
        st.query_params.pop(SCOPE, None)
        return services().store
    st.query_params[SCOPE] = ALL
    return fleet if _answers(fleet) else services().store


def _answers(fleet: Asked) -> bool:
    try:
        run_queries.run_choices(fleet)
    except PitwallError as error:
        st.warning(f"The lake does not answer, so these are this Pitwall's runs: {markdown_text(str(error))}")
        return False
    return True
