"""The main parts of the Run page, from header to configuration."""

from __future__ import annotations

from typing import Any

import streamlit as st

from analysis.comparison.facts import RunFacts
from commands.write import shell_text
from domain import Run
from engines.forced_acceptance import forced_sentence
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import RunReport
from storage.queries import run_data
from web import markup
from web.actions import is_operator
from web.compare.cached_reports import evidence_on
from web.compare.run_tiles import all_numbers_table, number_tiles
from web.compare.sources.source_line import source_line
from web.fleet import away_ids, link_to_home_pages, store_for_runs
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.page_head import page_head
from web.run_chips import chips_of
from web.run_notes.known_failures import known_failures
from web.runs.page.effective_config import effective_config_table
from web.runs.page.run_actions import relaunch_link, run_actions
from web.runs.page.server_log import show_failure_in_log
from web.runs.page.timeline import timeline_table
from web.runs.queue_words import queued_texts
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
            run_actions(run)


def header(report: RunReport) -> None:
    """The run's state, times, machine and settings."""
    run = report.run
    chips_html = markup.chips(chips_of([run])[run.id])
    state = f'<span class="pw-state-{run.state}">{run.shown_state}</span>'
    duration_s = (run.ended_at - run.started_at).total_seconds() if run.ended_at and run.started_at else None
    details = [run.kind, time_html(run.began_at, SECONDS)]
    details += [f"lasted {duration(duration_s)}"] if duration_s else []  # unknown for a log without timestamps
    if machine := machine_titles(store_for_runs([run])).get(run.machine_id):
        details.append(f"on {markup.text(machine)}")
    if run.on_host and is_operator():
        details.append(f"started over ssh on {markup.text(run.on_host)}")
    st.html(f"<p>{state} · {' · '.join(details)} · <code>{markup.text(run.id)}</code></p>{chips_html}")


def cause(run: Run) -> None:
    """Why the run failed, with the log around the line that shows it and the way on, or what the run waits for."""
    if run.cause:
        st.error(markdown_text(run.cause))
        show_failure_in_log(run)
        relaunch_link(run)
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
    # The first look (web/server/first_look.py) stays until this is drawn.
    st.html(
        f'<div class="pw-numbers">{number_tiles(report, metrics)}'
        f"{source_line(evidence_on(store, [report.run])[0])}</div>"
    )
    with url_expander("Every number and its definition", "numbers", "run"):
        st.html(all_numbers_table(metrics))


def timeline(run: Run) -> None:
    """The run's events in order, with the time since its start."""
    st.subheader("What happened")
    st.html(f'<div class="pw-timeline">{timeline_table(run, run_data.events(store_for_runs([run]), run.id))}</div>')


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
