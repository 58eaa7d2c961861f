"""What each run takes of the disk, the largest first; a run is found by its name, however small it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import streamlit as st

from domain import utc_now
from storage.ask.run_queries import runs_named, runs_of
from storage.files.disk_use import disk_use
from web import markup
from web.context import services
from web.kept import kept_text
from web.moments import DAYS, SECONDS, in_utc, moment, moment_html
from web.runs.table.shown_part import most_shown, show_more
from web.theme import byte_size

STEPS = (20, 100, 500, 2_000)
FIND, ROWS = "disk_find", "disk_rows"  # of the address
_MEASURED = "disk-measured"


class Measured(NamedTuple):
    """The bytes of each run, the largest first, as they were at a moment."""

    at: datetime
    used: Mapping[str, int]


def disk_list() -> None:
    """The list. All folders are looked at when it is opened and on demand; what is chosen in it costs what it shows."""
    measured = _measured()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kept = kept_text(FIND, "runs-disk-find")
        begun = kept.take()
        words = kept.keep(st.text_input("Find a run", begun, key=kept.key, placeholder="words of its name or id"))
        st.button("Measure again", on_click=forget_measured, icon=":material/refresh:")
    found = _matching(measured.used, words.lower().split())
    st.caption(
        f"{len(measured.used):,} runs take {byte_size(sum(measured.used.values()))}: logs, files of loads and sealed "
        f"samples, those of deleted runs until they are gone. Measured at {moment(measured.at, SECONDS)}."
        + (f" {len(found):,} match and take {byte_size(sum(found.values()))}." if words else ""),
        help=in_utc(measured=measured.at),
    )
    _table(found, list(found)[: most_shown(STEPS, ROWS)])
    show_more(STEPS, len(found), ROWS)


def forget_measured() -> None:
    """Have the folders looked at again when the list is shown next."""
    st.session_state.pop(_MEASURED, None)


def _measured() -> Measured:
    if _MEASURED not in st.session_state:
        used = disk_use(services().store, services().settings)
        in_order = sorted(used, key=lambda run_id: (-used[run_id], run_id))
        st.session_state[_MEASURED] = Measured(utc_now(), {run_id: used[run_id] for run_id in in_order})
    measured: Measured = st.session_state[_MEASURED]
    return measured


def _matching(used: Mapping[str, int], words: Sequence[str]) -> Mapping[str, int]:
    if not words:
        return used
    named = runs_named(services().store, words)
    return {run_id: size for run_id, size in used.items() if run_id in named}


def _table(used: Mapping[str, int], shown: Sequence[str]) -> None:
    rows = [
        [f'<a href="{markup.run_link("run", [run.id])}" target="_self">{markup.text(run.name)}</a>',
         markup.text(byte_size(used[run.id])), moment_html(run.ended_at or run.created_at, DAYS)]
        for run in runs_of(services().store, shown)
    ]  # fmt: skip
    if rows:
        st.html(markup.table(["run", "on disk", "ended"], rows))
