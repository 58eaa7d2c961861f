"""The server's log on the Run page: its end, or any other place of it, which the address keeps."""

from __future__ import annotations

import streamlit as st

from collectors.logs.log_view import Place
from domain import Run
from web import markup
from web.actions import is_member
from web.live.log_reads import LogEnd, LogReads
from web.markup import markdown_text

LINES = 400
PLACE = "log"  # of the address
MOST_DIGITS = 15  # of a byte in a file
_LOGS = LogReads(limit=LINES)


@st.fragment
def server_log(run: Run) -> None:
    """A piece of the log, the lines that matter marked; a place is a byte, so a log of gigabytes opens as fast."""
    st.subheader("Server log")
    if not run.log_path:
        st.info("This run has no log that Pitwall can read.")
        return
    piece = _read(run)
    if piece.place and piece.place.end - piece.place.start < piece.place.size:
        _where(run, piece.place)
    if piece.lines:
        st.html(markup.log_lines(piece.lines))
        st.caption("Access-log lines of /metrics, /health, /slots and /v1/models are left out; the file has them.")
    elif piece.why:
        st.warning(markdown_text(f"The log is not shown: {piece.why}."))
    elif piece.place and piece.place.size:
        st.info("Here the log has nothing but access-log lines of looks at the server.")
    else:
        where = f": {markdown_text(run.log_path)}" if is_member() else "."
        st.info(f"The log is empty or gone{where}")


def _read(run: Run) -> LogEnd:
    """The piece at the place that the address names; the end where the log does not reach that far."""
    since = _since()
    piece = _LOGS.ends([run], {run.id: since})[run.id]
    if since and piece.place and since >= piece.place.size:
        return _LOGS.ends([run])[run.id]
    return piece


def _since() -> int | None:
    """The byte that the address names; None, which is the end, where it names none."""
    said = st.query_params.get(PLACE, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) <= MOST_DIGITS else None


def _where(run: Run, place: Place) -> None:
    """Which part of the file is shown, and the ways to another."""
    shown = max(place.end - place.start, 1)
    last = max(place.size - shown, 1)
    with st.container(horizontal=True, vertical_alignment="center"):
        _way("Beginning", run, 0, is_off=place.start == 0)
        _way("Earlier", run, max(place.start - shown, 0), is_off=place.start == 0)
        _way("Later", run, place.end, is_off=place.end >= place.size)
        _way("End", run, None, is_off=place.end >= place.size)
        st.markdown(f"{place.start / 1e6:,.1f} to {place.end / 1e6:,.1f} of {place.size / 1e6:,.1f} MB")
    here, key = round(100 * min(place.start / last, 1)), f"log-since-{run.id}-{place.start}"
    st.slider("Place in the log", 0, 100, here, format="%d %%", key=key, on_change=_slide, args=(key, last))


def _way(label: str, run: Run, since: int | None, is_off: bool) -> None:
    st.button(label, key=f"log-since-{run.id}-{label}", on_click=_go, args=(since,), disabled=is_off)


def _go(since: int | None) -> None:
    if since is not None:
        st.query_params[PLACE] = str(since)
    elif PLACE in st.query_params:
        del st.query_params[PLACE]


def _slide(key: str, last: int) -> None:
    _go(last * st.session_state[key] // 100)
