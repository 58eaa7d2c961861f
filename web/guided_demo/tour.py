"""Live during the demo: moves on to each round, shows the remaining time and opens the answer at the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from statistics import fmean

import streamlit as st

from domain import CANCELLED, Run, RunState
from web.guided_demo.pace import FULL_TOKENS
from web.markup import run_link
from web.redirects import go_to
from web.theme import duration

TOUR, TOUR_ON = "demo", "follow"  # parameter and value in Live's address
EXCLUDED_STATES = (RunState.FAILED, RunState.QUEUED, CANCELLED)  # never part of the answer


def follow_demo(shown_runs: Sequence[Run], mates: Sequence[Run]) -> None:
    """Follow the demo if the address asks for it; the page reruns whenever a run's state has changed.

    shown_runs, mates: the runs that Live shows, and the others of their batch.
    """
    runs = sorted((*shown_runs, *mates), key=lambda run: run.id)
    if st.query_params.get(TOUR) != TOUR_ON or len({run.batch_id for run in runs}) != 1:
        return
    if all(run.state.is_final for run in runs):
        compared_ids = [run.id for run in baseline_first(runs) if run.shown_state not in EXCLUDED_STATES]
        if len(compared_ids) > 1:
            go_to(run_link("compare", compared_ids), replaces=True)
        return
    if (next_round := current_round(runs)) and not {run.id for run in shown_runs} & set(next_round):
        go_to(tour_address(next_round), replaces=True)
    st.caption(progress_text(runs), width="content")


def tour_address(run_ids: Sequence[str]) -> str:
    """Return Live's address for these runs of the demo, which then moves on automatically."""
    return f"{run_link('live', run_ids)}&{TOUR}={TOUR_ON}"


def baseline_first(runs: Sequence[Run]) -> list[Run]:
    """Sort runs without speculation first: they are the baseline with which speculation is compared."""
    return sorted(runs, key=lambda run: run.config.speculative is not None)


def current_round(runs: Sequence[Run]) -> list[str]:
    """Return the run ids of the round in progress; none between two rounds."""
    at_work = {run.round for run in runs if run.state.is_live}
    return [run.id for run in runs if run.round in at_work]


def progress_text(runs: Sequence[Run]) -> str:
    """Return 'Demo: 4 of 9 starts done, about 0:50 to go; then the answer opens automatically.'"""
    ended = [run for run in runs if run.state.is_final]
    durations = [run.ended_at - run.started_at for run in ended if run.started_at and run.ended_at]
    remaining = len(runs) - len(ended)
    to_go = (
        f", about {duration(fmean(span / timedelta(seconds=1) for span in durations) * remaining)} to go"
        if durations
        else ""
    )
    text = f"Demo: {len(ended)} of {len(runs)} starts done{to_go}; then the answer opens automatically."
    tokens = next((run.workload.params.get("tokens") for run in runs if run.workload), None)
    if isinstance(tokens, int) and tokens < FULL_TOKENS:
        text += f" This machine is slow or busy: its answers have {tokens} tokens instead of {FULL_TOKENS}."
    return text
