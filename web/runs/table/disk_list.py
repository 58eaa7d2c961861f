"""Disk use by run, largest first, with a search by name or id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import streamlit as st

from domain import utc_now
from storage.files.disk_use import disk_use
from storage.queries.run_queries import runs_named, runs_of
from web import markup
from web.context import services
from web.runs.table.page_size import row_limit, show_more
from web.theme import byte_size
from web.times import DAYS, SECONDS, format_time, time_html, utc_help
from web.url_state import text_choice

STEPS = (20, 100, 500, 2_000)
FIND, ROWS = "disk_find", "disk_rows"  # URL parameters
_MEASURED = "disk-measured"


class DiskUsage(NamedTuple):
    """The bytes of each run, largest first, and when they were measured."""

    measured_at: datetime
    bytes_by_run: Mapping[str, int]


def show_disk_list() -> None:
    """Show the list. Folders are measured when it opens and on demand; a search reuses the result."""
    usage = _disk_usage()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = text_choice(FIND, "runs-disk-find")
        initial_text = choice.initial_value()
        search = choice.save(
            st.text_input("Find a run", initial_text, key=choice.key, placeholder="words from its name or id")
        )
        st.button("Measure again", on_click=forget_disk_usage, icon=":material/refresh:")
    matches = _matching(usage.bytes_by_run, search.lower().split())
    total = byte_size(sum(usage.bytes_by_run.values()))
    st.caption(
        f"{len(usage.bytes_by_run):,} runs take {total}: logs, load files and sealed samples, including deleted runs "
        f"that can still be restored. Measured at {format_time(usage.measured_at, SECONDS)}."
        + (f" {len(matches):,} match and take {byte_size(sum(matches.values()))}." if search else ""),
        help=utc_help(measured=usage.measured_at),
    )
    _table(matches, list(matches)[: row_limit(STEPS, ROWS)])
    show_more(STEPS, len(matches), ROWS)


def forget_disk_usage() -> None:
    """Measure the folders again when the list is shown next."""
    st.session_state.pop(_MEASURED, None)


def _disk_usage() -> DiskUsage:
    if _MEASURED not in st.session_state:
        bytes_by_run = disk_use(services().store, services().settings)
        ordered_ids = sorted(bytes_by_run, key=lambda run_id: (-bytes_by_run[run_id], run_id))
        st.session_state[_MEASURED] = DiskUsage(utc_now(), {run_id: bytes_by_run[run_id] for run_id in ordered_ids})
    usage: DiskUsage = st.session_state[_MEASURED]
    return usage


def _matching(bytes_by_run: Mapping[str, int], search_words: Sequence[str]) -> Mapping[str, int]:
    if not search_words:
        return bytes_by_run
    named_ids = runs_named(services().store, search_words)
    return {run_id: size for run_id, size in bytes_by_run.items() if run_id in named_ids}


def _table(bytes_by_run: Mapping[str, int], run_ids: Sequence[str]) -> None:
    rows = [
        [f'<a href="{markup.run_link("run", [run.id])}" target="_self">{markup.text(run.name)}</a>',
         markup.text(byte_size(bytes_by_run[run.id])), time_html(run.ended_at or run.created_at, DAYS)]
        for run in runs_of(services().store, run_ids)
    ]  # fmt: skip
    if rows:
        st.html(markup.table(["run", "on disk", "ended"], rows))
