"""The main parts of the Run page, from header to configuration."""

from __future__ import annotations

from typing import Any

import streamlit as st

from analysis.comparison.facts import RunFacts
from commands.write import shell_text
from domain import Run, RunState
from engines.forced_acceptance import forced_sentence
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import RunReport
from storage.queries import run_data
from web import markup, page_paths
from web.actions import is_operator, stop_buttons
from web.compare.cached_reports import evidence_on
from web.compare.run_tiles import all_numbers_table, number_tiles
from web.compare.sources.source_line import source_line
from web.compare.sources.sql_popover import show_the_sql
from web.fleet import away_ids, link_to_home_pages, store_for_runs
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.page_head import page_head
from web.replay.controls import show_replay_link
from web.run_chips import chips_of
from web.run_notes.known_failures import known_failures
from web.runs.page.effective_config import effective_config_table
from web.runs.page.repeat_button import repeat_button
from web.runs.page.timeline import timeline_table
from web.runs.queue_words import queued_texts
from web.sharing.bundle_button import bundle_button
from web.sharing.report_button import report_button
from web.sharing.share_dialog import show_share_button
from web.theme import DASH, duration
from web.times import SECONDS, time_column, time_html
from web.url_state import url_expander

REQUEST_COLUMNS: dict[str, Any] = {  # column -> title or column configuration
    "phase": "Phase",
    "prompt_class": "Prompt",
    "concurrency": "Concurrency",
    "ttft_ms": st.column_config.NumberColumn("First token, ms", format="%.0f"),
    "decode_ms": st.column_config.NumberColumn("Decode, ms", format="%.0f"),
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Tokens",
    "accepted_tokens": "Accepted",
    "finish_reason": "Finish",
    "error_kind": "Error",
    "error_text": "Error message",
    "sent_at": "Sent",
    "request_id": "Id",
}


def head(run: Run) -> None:
    """The run's name with the page's actions; a run of another machine only links to its own Pitwall."""
    with page_head(run.name, ("runs", "Runs"), run.color):
        if away_ids([run]):
            link_to_home_pages([run])
        else:
            actions(run)


def header(report: RunReport) -> None:
    """The run's state, times, machine and settings."""
    run = report.run
    chips_html = markup.chips(chips_of([run])[run.id])
    state = f'<span class="pw-state-{run.state}">{run.shown_state}</span>'
    duration_s = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    details = [run.kind, time_html(run.started_at or run.created_at, SECONDS)]
    details += [f"lasted {duration(duration_s)}"] if duration_s else []  # unknown for a log without timestamps
    if machine := machine_titles(store_for_runs([run])).get(run.machine_id):
        details.append(f"on {markup.text(machine)}")
    if run.on_host and is_operator():
        details.append(f"started over ssh on {markup.text(run.on_host)}")
    st.html(f"<p>{state} · {' · '.join(details)} · <code>{markup.text(run.id)}</code></p>{chips_html}")


def actions(run: Run) -> None:
    """The page's actions: what continues this run first, then Share and Report, then further ones."""
    stop_buttons([run])
    repeat_button(run)
    if run.config.argv and is_operator():
        st.page_link(page_paths.LAUNCH, label="Relaunch with one change", query_params={"run": run.id})
    show_share_button([run], "run")
    report_button([run], "run")
    st.page_link(page_paths.LIVE, label="Live view", query_params={"run": run.id})
    if run.shown_state == RunState.FINISHED:
        show_replay_link([run.id])
    bundle_button([run], "run")
    show_the_sql([run.id])


def cause(run: Run) -> None:
    """Why the run failed, with the log line that shows it, or what it waits for."""
    if run.cause:
        st.error(markdown_text(run.cause))
        if run.cause_line and run.cause_line != run.cause:
            st.code(run.cause_line, language=None, wrap_lines=True)
    known_failures(run)
    for text in queued_texts([run]).values():
        st.info(markdown_text(f"{text[0].upper()}{text[1:]}."), icon=":material/schedule:")
    if run.note:
        st.info(markdown_text(run.note))


def forced_acceptance(facts: RunFacts) -> None:
    """A warning if its server was forced to accept drafts."""
    if switch := facts.served.forced_acceptance:
        st.warning(markdown_text(forced_sentence(switch)))


def numbers(report: RunReport, facts: RunFacts) -> None:
    """The measured numbers and their sources, and every number with its definition."""
    store = store_for_runs([report.run])
    metrics = metrics_of_runs(store, [report], {report.run.id: facts})[report.run.id]
    st.html(number_tiles(report, metrics))
    st.html(source_line(evidence_on(store, [report.run])[0]))
    with url_expander("Every number and its definition", "numbers", "run"):
        st.html(all_numbers_table(metrics))


def timeline(run: Run) -> None:
    """The run's events in order, with the time since its start."""
    st.subheader("What happened")
    st.html(timeline_table(run, run_data.events(store_for_runs([run]), run.id)))


def requests(report: RunReport) -> None:
    """The requests of Pitwall's load, as its client measured them."""
    rows = run_data.requests(store_for_runs([report.run]), report.run.id)
    if rows.num_rows:
        st.subheader("Requests")
        frame = rows.to_pandas()
        columns = REQUEST_COLUMNS | {"sent_at": time_column("Sent", frame["sent_at"].dropna())}
        st.dataframe(
            frame, hide_index=True, column_order=list(REQUEST_COLUMNS), column_config=columns, placeholder=DASH
        )


def configuration(run: Run) -> None:
    """The requested fields and environment, and the exact command."""
    st.subheader("Configuration")
    effective_config_table(run)
    if run.config.argv:
        st.code(shell_text(list(run.config.argv)), language="bash", wrap_lines=True)
