"""The parts of the Run page, each one question."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from analysis.config_diff import chips
from collectors.log_view import LogTailView
from domain import Run
from launcher.command import shell_text
from storage import queries
from web import markup
from web.actions import is_operator, stop_buttons
from web.comparison import number_table
from web.context import services
from web.effective_config import asked_and_effective
from web.evidence import evidence_of, source_line
from web.facts import Facts, engine_title
from web.markup import markdown_text
from web.theme import duration

LOG_LINES = 400


def header(facts: Facts) -> None:
    """Which run this is and how it stands."""
    run = facts.run
    words = markup.chips(chips(run.config.model_dump(), engine_title(run)))
    state = f'<span class="pw-state-{run.state}">{run.state}</span>'
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    words_of_time = [run.kind, f"{run.created_at:%d %b %Y %H:%M:%S} UTC"]
    words_of_time += [f"lasted {duration(lasted)}"] if lasted is not None else []
    st.html(
        f'<h1 style="font-size:1.35rem;margin:0">{markup.swatch(run.color)}{markup.text(run.name)}</h1>'
        f'<p class="pw-lead">{state} · {" · ".join(words_of_time)} · <code>{markup.text(run.id)}</code></p>{words}'
    )
    with st.container(horizontal=True):
        st.html(f'<a href="{markup.run_link("live", [run.id])}" target="_self">Live view</a>')
        if run.config.argv and is_operator():
            st.html(f'<a href="{markup.run_link("launch", [run.id])}" target="_self">Relaunch with one change</a>')
    stop_buttons([run])


def cause(run: Run) -> None:
    """Why it failed, with the line that shows it."""
    if run.cause:
        st.error(markdown_text(run.cause))
        if run.cause_line:
            st.code(run.cause_line, language=None, wrap_lines=True)
    if run.note:
        st.info(markdown_text(run.note))


def numbers(facts: Facts) -> None:
    """What was measured, and who said so."""
    st.html(number_table([facts]))
    st.html(source_line(evidence_of([facts.run])[0]))


def timeline(run: Run) -> None:
    """What happened, in order, with the time since the start."""
    st.subheader("What happened")
    rows = queries.events(services().store, run.id)
    begin = run.started_at or run.created_at
    st.html(
        markup.table(
            ["since start", "kind", ""],
            [
                [duration(max(0.0, (row.ts - begin).total_seconds())), markup.text(row.kind), markup.text(row.text)]
                for row in rows
            ],
        )
    )


def requests(facts: Facts) -> None:
    """The requests of our own load, as its client measured them."""
    rows = queries.requests(services().store, facts.run.id)
    if rows.num_rows:
        st.subheader("Requests")
        st.dataframe(rows.to_pandas(), hide_index=True)


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
    lines = LogTailView(Path(run.log_path), run.config.engine).lines(LOG_LINES)
    if lines:
        st.html(markup.log_lines(lines))
    else:
        st.info(f"The log is empty or gone: {run.log_path}")
