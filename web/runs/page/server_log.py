"""The server log on the Run page: its end, or any other position, which the URL keeps."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from collectors.logs.log_view import ByteRange, ViewLine
from domain import Run
from web import markup
from web.actions import is_member
from web.live.log_reads import LogEnd, LogReads
from web.markup import markdown_text
from web.url_presses import change_url_params

LINES = 400
LINES_BEFORE, LINES_AFTER = 8, 8  # of the line of a failure, without scrolling
LOG_PARAMETER = "log"  # URL parameter: a byte offset in the log file
MOST_DIGITS = 15  # of that offset
_LOGS = LogReads(limit=LINES)


@st.fragment
def server_log(run: Run) -> None:
    """Show a part of the log with its important lines marked; byte offsets keep logs of gigabytes fast."""
    st.subheader("Server log")
    if not run.log_path:
        st.info("This run has no log that Pitwall can read.")
        return
    piece = _read(run)
    if piece.shown_range and piece.shown_range.end - piece.shown_range.start < piece.shown_range.size:
        _show_navigation(run, piece.shown_range)
    if piece.lines:
        st.html(markup.log_lines(piece.lines))
        st.caption("Access log lines of /metrics, /health, /slots and /v1/models are hidden; the file has them.")
    elif piece.problem:
        st.warning(markdown_text(f"The log is not shown: {piece.problem}."))
    elif piece.shown_range and piece.shown_range.size:
        st.info("This part of the log has only access log lines of health and metrics requests.")
    else:
        path_note = f": {markdown_text(run.log_path)}" if is_member() else "."
        st.info(f"The log is empty or gone{path_note}")


def show_failure_in_log(run: Run) -> None:
    """Show the end of a failed run's log around the line of its cause; the line alone if the log has it no more."""
    lines = _LOGS.ends([run])[run.id].lines if run.log_path else []
    if excerpt := lines_around(lines, run.cause_line):
        st.html(markup.log_lines(excerpt, "server log around the failure"))
    elif run.cause_line and run.cause_line != run.cause:
        st.code(run.cause_line, language=None, wrap_lines=True)


def lines_around(lines: Sequence[ViewLine], cause_line: str | None) -> list[ViewLine]:
    """Return the last of these lines that contains `cause_line`, marked as a failure, with the lines around it."""
    text = (cause_line or "").strip()
    index = max((number for number, line in enumerate(lines) if text and text in line["text"]), default=None)
    if index is None:
        return []
    failure: ViewLine = {**lines[index], "kind": "failure"}
    return [*lines[max(index - LINES_BEFORE, 0) : index], failure, *lines[index + 1 : index + 1 + LINES_AFTER]]


def _read(run: Run) -> LogEnd:
    """Return the part at the offset in the URL, or the end if the log is shorter."""
    since = _since()
    piece = _LOGS.ends([run], {run.id: since})[run.id]
    if since and piece.shown_range and since >= piece.shown_range.size:
        return _LOGS.ends([run])[run.id]
    return piece


def _since() -> int | None:
    """Return the byte offset in the URL; None, the end of the log, if there is none."""
    param = st.query_params.get(LOG_PARAMETER, "")
    return int(param) if param.isascii() and param.isdecimal() and len(param) <= MOST_DIGITS else None


def _show_navigation(run: Run, position: ByteRange) -> None:
    """Show which part of the file is visible, and controls to move in it."""
    shown_bytes = max(position.end - position.start, 1)
    last = max(position.size - shown_bytes, 1)
    with st.container(horizontal=True, vertical_alignment="center"):
        _jump_button("Beginning", run, 0, is_off=position.start == 0)
        _jump_button("Earlier", run, max(position.start - shown_bytes, 0), is_off=position.start == 0)
        _jump_button("Later", run, position.end, is_off=position.end >= position.size)
        _jump_button("End", run, None, is_off=position.end >= position.size)
        st.markdown(f"{position.start / 1e6:,.1f} to {position.end / 1e6:,.1f} of {position.size / 1e6:,.1f} MB")
    # Under one key for all positions a browser could send what the slider showed before a press, with the URL after it.
    percent, key = round(100 * min(position.start / last, 1)), f"log-since-{run.id}-{position.start}"
    args = (key, last, _since())
    st.slider("Position in the log", 0, 100, percent, format="%d %%", key=key, on_change=_slide, args=args)


def _jump_button(label: str, run: Run, since: int | None, is_off: bool) -> None:
    key = f"log-since-{run.id}-{label}"
    st.button(label, key=key, on_click=_press, args=(since,), disabled=is_off)


def _slide(key: str, last_start: int, shown_since: int | None) -> None:
    """Move to the slider's position, unless a browser sends the value of a slider that the page has replaced."""
    if shown_since == _since():
        _press(last_start * st.session_state[key] // 100)


def _press(since: int | None) -> None:
    """Write the offset to the URL, or remove it for the end of the log."""
    change_url_params({LOG_PARAMETER: [] if since is None else [str(since)]})
