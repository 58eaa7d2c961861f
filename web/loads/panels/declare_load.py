"""The form in which the owner of an imported log declares its server's load, without which it is never ranked."""

from __future__ import annotations

import secrets

import streamlit as st

from analysis.guard.load import DECLARED
from domain import Run, utc_now
from load_records import Load
from samples import Batch
from storage.queries import load_queries
from web import audit
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.url_state import url_expander

MAX_CHARS = 120


def show_declare_load(run: Run) -> None:
    """Show an imported run's declared load as such, or the form to declare it."""
    if run.kind != "imported":
        return
    declared = [load.plan for load in load_queries.loads(services().store, [run.id])[run.id] if load.plan]
    for plan in [entry for entry in declared if entry.tool == DECLARED][-1:]:
        params_text = ", ".join(f"{name} {value}" for name, value in plan.params.items())
        st.caption(f"Its owner declared the load: {markdown_text(plan.workload)} ({markdown_text(params_text)}).")
    if not is_operator() or declared:
        return
    section = url_expander("Declare its load so that it can be compared", "declare", "run")
    with section, st.form("declare", border=False):
        st.caption("Two logs are compared only if their declared loads are identical.")
        workload = st.text_input("Workload", placeholder="ShareGPT replay, five prompts, ...", max_chars=MAX_CHARS)
        phase = st.text_input("Part", placeholder="steady part, single stream, ...", max_chars=MAX_CHARS)
        concurrency = int(st.number_input("Concurrent requests", 1, 4096, 1))
        if st.form_submit_button("Declare") and workload.strip():
            _declare(run, workload.strip(), phase.strip(), concurrency)


def _declare(run: Run, workload: str, phase: str, concurrency: int) -> None:
    require_operator()
    params = {"requests at once": concurrency} | ({"part": phase} if phase else {})
    load = Load(run.id, secrets.token_hex(4), utc_now(), DECLARED, workload, params=params)
    services().store.write(Batch((load,))).result()
    audit.record("declare", [run.id], f"its load was {workload}")
    st.rerun()
