"""The parts of the Run page, each one question."""

from __future__ import annotations

from typing import Any

import streamlit as st

from analysis.comparison.config_diff import as_started, chips
from analysis.comparison.facts import RunFacts
from commands.write import shell_text
from domain import Run, RunState
from reports.runs.run_report import RunReport, engine_title
from storage.ask import queries
from web import markup, places
from web.actions import is_operator, stop_buttons
from web.compare.comparison import number_tiles
from web.compare.kept_reports import evidence_on
from web.compare.sources.shown_sql import show_the_sql
from web.compare.sources.source_line import source_line
from web.fleet import asked_about, away_ids, link_to_others
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.moments import SECONDS, moment_column, moment_html
from web.replay.choice import replay_link
from web.report.button import report_button
from web.runs.page.effective_config import asked_and_effective
from web.runs.page.repeat_button import repeat_button
from web.runs.page.timeline import timeline_table
from web.runs.remarks.known_failures import known_failures
from web.sharing.bundle_button import bundle_button
from web.sharing.share_dialog import share_button
from web.theme import DASH, duration

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
    "sent_at": "Sent",
    "request_id": "Id",
}


def header(report: RunReport) -> None:
    """Which run this is and how it stands."""
    run = report.run
    words = markup.chips(chips(as_started(run.config.model_dump(), run.told), engine_title(run)))
    state = f'<span class="pw-state-{run.state}">{run.state}</span>'
    lasted = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    facts_of_time = [run.kind, moment_html(run.started_at or run.created_at, SECONDS)]
    facts_of_time += [f"lasted {duration(lasted)}"] if lasted else []  # a log without times spans none that is known
    if machine := machine_titles(asked_about([run])).get(run.machine_id):
        facts_of_time.append(f"on {markup.text(machine)}")
    if run.on_host and is_operator():
        facts_of_time.append(f"started by ssh on {markup.text(run.on_host)}")
    st.html(
        f'<h1 class="pw-title">{markup.swatch(run.color)}{markup.text(run.name)}</h1>'
        f"<p>{state} · {' · '.join(facts_of_time)} · <code>{markup.text(run.id)}</code></p>{words}"
    )


def actions(run: Run) -> None:
    """Where to go from here, and what to do with the run; of another machine's only that Pitwall does anything."""
    if away_ids([run]):
        link_to_others([run])
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(places.LIVE, label="Live view", query_params={"run": run.id})
        if run.state is RunState.FINISHED:
            replay_link([run.id])
        if run.config.argv and is_operator():
            st.page_link(places.LAUNCH, label="Relaunch with one change", query_params={"run": run.id})
        repeat_button(run)
        stop_buttons([run])
        share_button([run], "run")
        bundle_button([run], "run")
        report_button([run], "run")
        show_the_sql([run.id])


def cause(run: Run) -> None:
    """Why it failed, with the line that shows it."""
    if run.cause:
        st.error(markdown_text(run.cause))
        if run.cause_line and run.cause_line != run.cause:
            st.code(run.cause_line, language=None, wrap_lines=True)
        known_failures(run)
    if run.note:
        st.info(markdown_text(run.note))


def numbers(report: RunReport, facts: RunFacts) -> None:
    """What was measured, and who said so."""
    st.html(number_tiles(report, facts))
    st.html(source_line(evidence_on(asked_about([report.run]), [report.run])[0]))


def timeline(run: Run) -> None:
    """What happened, in order, with the time since the start."""
    st.subheader("What happened")
    st.html(timeline_table(run, queries.events(asked_about([run]), run.id)))


def requests(report: RunReport) -> None:
    """The requests of our own load, as its client measured them."""
    rows = queries.requests(asked_about([report.run]), report.run.id)
    if rows.num_rows:
        st.subheader("Requests")
        frame = rows.to_pandas()
        columns = REQUEST | {"sent_at": moment_column("Sent", frame["sent_at"].dropna())}
        st.dataframe(frame, hide_index=True, column_order=list(REQUEST), column_config=columns, placeholder=DASH)


def configuration(run: Run) -> None:
    """What was asked for: fields, environment and the very command."""
    st.subheader("Configuration")
    asked_and_effective(run)
    if run.config.argv:
        st.code(shell_text(list(run.config.argv)), language="bash", wrap_lines=True)
