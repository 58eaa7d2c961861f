"""The parts of the Run page, each one question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import streamlit as st

from analysis.config_diff import as_started, chips
from commands.write import shell_text
from domain import Run
from reports.evidence import evidence_of
from reports.run_report import RunReport, engine_title
from storage.ask import queries
from web import markup, places
from web.actions import is_operator, stop_buttons
from web.compare.comparison import number_tiles
from web.compare.shown_sql import show_the_sql
from web.compare.source_line import source_line
from web.context import services
from web.live.log_reads import LogReads
from web.markup import markdown_text
from web.runs.effective_config import asked_and_effective
from web.runs.repeat_button import repeat_button
from web.sharing.bundle_button import bundle_button
from web.sharing.share_dialog import share_button
from web.theme import duration

LOG_LINES = 400
_LOGS = LogReads(limit=LOG_LINES)
AFTERWARDS = timedelta(minutes=1)
REQUEST: dict[str, Any] = {  # column -> how it is shown
    "phase": "Phase",
    "prompt_class": "Prompt",
    "concurrency": "At once",
    "ttft_ms": st.column_config.NumberColumn("First token, ms", format="%.0f"),
    "decode_ms": st.column_config.NumberColumn("Decode, ms", format="%.0f"),
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Tokens",
    "accepted_tokens": "Accepted",
    "finish_reason": "Finish",
    "error_kind": "Error",
    "error_text": "What it said",
    "sent_at": st.column_config.DatetimeColumn("Sent", format="HH:mm:ss"),
    "request_id": "Id",
}


def header(report: RunReport) -> None:
    """Which run this is and how it stands."""
    run = report.run
    words = markup.chips(chips(as_started(run.config.model_dump(), run.told), engine_title(run)))
    state = f'<span class="pw-state-{run.state}">{run.state}</span>'
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    facts_of_time = [run.kind, f"{run.started_at or run.created_at:%d %b %Y %H:%M:%S} UTC"]
    facts_of_time += [f"lasted {duration(lasted)}"] if lasted is not None else []
    st.html(
        f'<h1 class="pw-title">{markup.swatch(run.color)}{markup.text(run.name)}</h1>'
        f"<p>{state} · {' · '.join(facts_of_time)} · <code>{markup.text(run.id)}</code></p>{words}"
    )


def actions(run: Run) -> None:
    """Where to go from here, and what to do with the run."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(places.LIVE, label="Live view", query_params={"run": run.id})
        if run.config.argv and is_operator():
            st.page_link(places.LAUNCH, label="Relaunch with one change", query_params={"run": run.id})
        repeat_button(run)
        stop_buttons([run])
        share_button([run], "run")
        bundle_button([run], "run")
        show_the_sql([run.id])


def cause(run: Run) -> None:
    """Why it failed, with the line that shows it."""
    if run.cause:
        st.error(markdown_text(run.cause))
        if run.cause_line and run.cause_line != run.cause:
            st.code(run.cause_line, language=None, wrap_lines=True)
    if run.note:
        st.info(markdown_text(run.note))


def numbers(report: RunReport) -> None:
    """What was measured, and who said so."""
    st.html(number_tiles(report))
    st.html(source_line(evidence_of(services().store, [report.run])[0]))


def timeline(run: Run) -> None:
    """What happened, in order, with the time since the start."""
    st.subheader("What happened")
    rows = [[_moment(run, row.ts), _event(row)] for row in told_once(queries.events(services().store, run.id))]
    st.html(markup.table(["since start", ""], rows, wraps=True))


def told_once(rows: Sequence[queries.EventRow]) -> list[queries.EventRow]:
    """The events without the start-up facts, which the configuration shows, and without what a state says again."""
    states = {row.text for row in rows if row.kind == "state"}
    kept = [row for row in rows if row.kind != "startup" and not (row.kind == "phase" and row.text in states)]
    return [row for before, row in zip([None, *kept], kept, strict=False) if before is None or before.text != row.text]


def _moment(run: Run, ts: datetime) -> str:
    """Since the start; of what came long after the end (an import) the date."""
    if run.ended_at and ts > run.ended_at + AFTERWARDS:
        return f"{ts:%d %b %Y %H:%M} UTC"
    seconds = (ts - (run.started_at or run.created_at)).total_seconds()
    return f"{seconds:.1f} s" if abs(seconds) < 60 else ("\u2212" if seconds < 0 else "") + duration(abs(seconds))


def _event(row: queries.EventRow) -> str:
    return f'<span class="pw-mark-{markup.text(row.kind)}">{markup.text(row.text)}</span>'


def requests(report: RunReport) -> None:
    """The requests of our own load, as its client measured them."""
    rows = queries.requests(services().store, report.run.id)
    if rows.num_rows:
        st.subheader("Requests")
        st.dataframe(rows.to_pandas(), hide_index=True, column_order=list(REQUEST), column_config=REQUEST)


def configuration(run: Run) -> None:
    """What was asked for: fields, environment and the very command."""
    st.subheader("Configuration")
    asked_and_effective(run)
    if run.config.argv:
        st.code(shell_text(list(run.config.argv)), language="bash", wrap_lines=True)


def log(run: Run) -> None:
    """The end of the server's log, the lines that matter marked."""
    st.subheader("Server log")
    if not run.log_path:
        st.info("This run has no log that Pitwall can read.")
        return
    end = _LOGS.ends([run])[run.id]
    if end.lines:
        st.html(markup.log_lines(end.lines))
        st.caption("Access-log lines of /metrics, /health, /slots and /v1/models are left out; the file has them.")
    elif end.why:
        st.warning(markdown_text(f"The log is not shown: {end.why}."))
    else:
        st.info(f"The log is empty or gone: {run.log_path}")
