"""Live while the demo runs: it goes on to each round by itself, says when it will be done, and ends on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from statistics import fmean

import streamlit as st

from domain import Run, RunState
from web.guided_demo.pace import FULL_TOKENS
from web.kept import go_to
from web.markup import run_link
from web.theme import duration

TOUR, TOUR_ON = "demo", "follow"  # in the address of Live, beside its runs
LOST = (RunState.FAILED, RunState.QUEUED)  # never a part of the answer, or not yet


def follow_demo(shown: Sequence[Run], mates: Sequence[Run]) -> None:
    """For the address that the demo's button leads to; the page runs anew whenever a run's state has changed.

    shown, mates: the runs that Live shows, and the others of their batch.
    """
    runs = sorted((*shown, *mates), key=lambda run: run.id)
    if st.query_params.get(TOUR) != TOUR_ON or len({run.batch_id for run in runs}) != 1:
        return
    if all(run.state.is_final for run in runs):
        answered = [run.id for run in in_order_of_answer(runs) if run.state not in LOST]
        if len(answered) > 1:
            go_to(run_link("compare", answered), replaces=True)
        return
    if (due := round_at_work(runs)) and not {run.id for run in shown} & set(due):
        go_to(followed(due), replaces=True)
    st.caption(progress_words(runs), width="content")


def followed(run_ids: Sequence[str]) -> str:
    """The address at which Live shows these runs of the demo and goes on by itself."""
    return f"{run_link('live', run_ids)}&{TOUR}={TOUR_ON}"


def in_order_of_answer(runs: Sequence[Run]) -> list[Run]:
    """What does not speculate comes first: it is the baseline that speculation is held against."""
    return sorted(runs, key=lambda run: run.config.speculative is not None)


def round_at_work(runs: Sequence[Run]) -> list[str]:
    """The ids of the round whose run works now; none between two."""
    at_work = {run.round for run in runs if run.state.is_live}
    return [run.id for run in runs if run.round in at_work]


def progress_words(runs: Sequence[Run]) -> str:
    """'Demo: 4 of 9 starts done, about 0:50 to go; then the answer comes by itself.'"""
    ended = [run for run in runs if run.state.is_final]
    took = [run.ended_at - run.started_at for run in ended if run.started_at and run.ended_at]
    left = len(runs) - len(ended)
    to_go = f", about {duration(fmean(one / timedelta(seconds=1) for one in took) * left)} to go" if took else ""
    words = f"Demo: {len(ended)} of {len(runs)} starts done{to_go}; then the answer comes by itself."
    tokens = next((run.workload.params.get("tokens") for run in runs if run.workload), None)
    if isinstance(tokens, int) and tokens < FULL_TOKENS:
        words += f" This machine is slow or busy: its answers have {tokens} tokens instead of {FULL_TOKENS}."
    return words
