"""What a run is put under, how often it is repeated, and what that will show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from domain import WATCH, JsonValue, WorkloadSpec
from launcher.runs.rounds import MOST_REPEATS
from web.launch.draft import Draft
from web.launch.loads.later_loads import choose_later
from web.launch.loads.load_choice import choose_workload
from workloads.saved_loads import SavedLoad

SUGGESTED_REPEATS = 3
# Repeats -> half of the 95 % interval of the ratio of two configurations in percent (Welch's t on the logarithms of the
# runs' means), where two runs of one configuration differ by 2 %.
HALF_WIDTHS: Mapping[int, float] = {
    2: 13,
    3: 5,
    4: 3.5,
    5: 3,
    6: 2.6,
    8: 2.1,
    10: 1.9,
    15: 1.5,
    20: 1.3,
    30: 1,
    50: 0.8,
}


class Load(NamedTuple):
    """A workload's name, how many runs of it, its parameters, and what follows it on the same server."""

    workload: str
    repeats: int
    params: Mapping[str, JsonValue] = {}
    later: tuple[WorkloadSpec, ...] = ()


def choose_load(edited: Draft) -> Load:
    """The workload that fits what is edited, unless another is chosen; a run without one has no repeats."""
    proposed = edited.proposed_workload
    left, right = st.columns([3, 2])
    key = f"load-{edited.origin}-{proposed}"  # another source proposes anew, an edit leaves what was chosen
    like = SavedLoad(workload=proposed, params=edited.load_params(proposed))
    workload, params = (chosen := choose_workload(like, key, may_watch=True, place=left)).workload, chosen.params
    is_watched = workload == WATCH.name
    repeats = right.number_input("Repeats", 1, MOST_REPEATS, SUGGESTED_REPEATS, disabled=is_watched, key="repeats")
    later = () if is_watched else choose_later(edited, f"{key}-later")
    load = Load(workload, 1 if is_watched else int(repeats), params, later)
    st.caption("It runs until it is stopped: without a workload there are no repeats." if is_watched else cost(load))
    return load


def cost(load: Load, configurations: int = 1) -> str:
    """'6 server starts, one after the other. 3 repeats ...'."""
    starts = load.repeats * configurations
    return f"{starts} server start{'s, one after the other' if starts > 1 else ''}. {what_repeats_show(load.repeats)}"


def what_repeats_show(repeats: int) -> str:
    """What so many repeats can show of two configurations."""
    if repeats == 1:
        return "One run each cannot tell configurations from chance: a second run of the same one differs too."
    width = HALF_WIDTHS[max(known for known in HALF_WIDTHS if known <= repeats)]
    return (
        f"Where runs of one configuration differ by 2 %, {repeats} repeats give the ratio of two configurations to "
        f"± {width:g} % (2 repeats: 13 %, 3: 5 %, 5: 3 %). To show that two are the same within 2 % takes about 20."
    )
