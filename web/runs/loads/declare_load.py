"""The owner of an imported log says what load its server was under: without that it is never ranked."""

from __future__ import annotations

import secrets

import streamlit as st

from analysis.guard.load import DECLARED
from domain import Run, utc_now
from load_records import Load
from samples import Batch
from storage.ask import load_queries
from web import audit
from web.actions import is_operator, require_operator
from web.context import services
from web.kept import fold
from web.markup import markdown_text

LONGEST = 120


def declare_load(run: Run) -> None:
    """For imported runs; what was declared stands there as that."""
    if run.kind != "imported":
        return
    declared = [load.asked for load in load_queries.loads(services().store, [run.id])[run.id] if load.asked]
    for asked in [one for one in declared if one.tool == DECLARED][-1:]:
        about = ", ".join(f"{name} {value}" for name, value in asked.params.items())
        st.caption(f"Its owner declared the load: {markdown_text(asked.workload)} ({markdown_text(about)}).")
    if not is_operator() or declared:
        return
    section = fold("Declare what load it was under, so that it can be compared", "declare", "run")
    with section, st.form("declare", border=False):
        st.caption("Two logs are compared only where their declared loads are the same in every word.")
        workload = st.text_input("Workload", placeholder="ShareGPT replay, five prompts, ...", max_chars=LONGEST)
        phase = st.text_input("Part of it", placeholder="steady part, single stream, ...", max_chars=LONGEST)
        concurrency = int(st.number_input("Requests at once", 1, 4096, 1))
        if st.form_submit_button("Declare") and workload.strip():
            _declare(run, workload.strip(), phase.strip(), concurrency)


def _declare(run: Run, workload: str, phase: str, concurrency: int) -> None:
    require_operator()
    params = {"requests at once": concurrency} | ({"part": phase} if phase else {})
    load = Load(run.id, secrets.token_hex(4), utc_now(), DECLARED, workload, params=params)
    services().store.write(Batch((load,))).result()
    audit.record("declare", [run.id], f"its load was {workload}")
    st.rerun()
