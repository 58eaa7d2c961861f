"""The choice of workload, repeats and further loads for a launch, and what the repeats can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from commands.sweep import estimate
from domain import WATCH, Config, JsonValue, Run, WorkloadSpec
from launcher.runs.rounds import MOST_REPEATS
from web.launch.draft import LaunchDraft
from web.loads.forms.load_choice import SAVED, choose_workload, load_library, workload_title
from web.theme import duration
from workloads import REGISTRY, spec_for
from workloads.process.external_tools import tool_of
from workloads.saved_loads import SavedLoad
from workloads.shapes.own_prompts import OWN_PROMPTS

LATER_HELP = (
    "All run on one server start, in this order: each is compared separately, and the model is loaded once. A load "
    "uses its saved parameters, or else its defaults."
)

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


class LaunchLoad(NamedTuple):
    """A workload with its parameters and repeats, and the loads that follow on the same server."""

    workload: str
    repeats: int
    params: Mapping[str, JsonValue] = {}
    later: tuple[WorkloadSpec, ...] = ()


def choose_load(draft: LaunchDraft) -> LaunchLoad:
    """Return the selected load, by default the one proposed for the draft; without a load there are no repeats."""
    proposed = draft.proposed_workload
    left_column, right_column = st.columns([3, 2])
    key = f"load-{draft.origin}-{proposed}"  # a new source resets the choice, an edit keeps it
    proposal = SavedLoad(workload=proposed, params=draft.load_params(proposed))
    workload, params = (
        (selected := choose_workload(proposal, key, may_watch=True, container=left_column, may_run_task=True)).workload,
        selected.params,
    )
    is_watched = workload == WATCH.name
    repeats = right_column.number_input(
        "Repeats", 1, MOST_REPEATS, SUGGESTED_REPEATS, disabled=is_watched, key="repeats"
    )
    later = () if is_watched else choose_later(draft, f"{key}-later")
    load = LaunchLoad(workload, 1 if is_watched else int(repeats), params, later)
    st.caption(
        "It runs until it is stopped: without a workload there are no repeats." if is_watched else cost_text(load)
    )
    return load


def cost_text(load: LaunchLoad, configurations: int = 1) -> str:
    """'6 server starts, one after the other. 3 repeats ...'."""
    starts = load.repeats * configurations
    return f"{starts} server start{'s, one after the other' if starts > 1 else ''}. {repeats_text(load.repeats)}"


def estimate_text(config: Config, load: LaunchLoad, earlier: Sequence[Run]) -> str | None:
    """Return 'About 2:50 (median of 3 finished runs ...).'; None without a workload, which never ends."""
    if load.workload == WATCH.name:
        return None
    names = ", ".join([load.workload, *(spec.name for spec in load.later)])
    time_estimate = estimate(load.repeats, names, earlier, config)
    if time_estimate.seconds is None:
        return f"The duration is not known: {time_estimate.basis}."
    return f"About {duration(time_estimate.seconds)} ({time_estimate.basis})."


def repeats_text(repeats: int) -> str:
    """Say how precisely so many repeats compare two configurations."""
    if repeats == 1:
        return "One run each cannot separate configurations from chance: a second run of the same one differs too."
    width = HALF_WIDTHS[max(count for count in HALF_WIDTHS if count <= repeats)]
    return (
        f"If runs of one configuration differ by 2 %, {repeats} repeats measure the ratio of two configurations to "
        f"± {width:g} % (2 repeats: 13 %, 3: 5 %, 5: 3 %). Showing that two are equal within 2 % takes about 20."
    )


def choose_later(draft: LaunchDraft, key: str) -> tuple[WorkloadSpec, ...]:
    """Return the selected loads in order; a relaunch starts with those of its run."""
    run_loads = loads_of_run(draft.later_workloads, draft.origin or "before")
    options = {**run_loads, **offered_loads(load_library().all())}
    selected = st.multiselect(
        "Then, on the same server", list(options), list(run_loads), key=key, help=LATER_HELP, select_all=False
    )
    return tuple(options[title] for title in selected)


def loads_of_run(later_workloads: Iterable[WorkloadSpec], origin: str) -> dict[str, WorkloadSpec]:
    """Return a run's further loads by unique titles, since the same load may be repeated."""
    loads = dict[str, WorkloadSpec]()
    for number, spec in enumerate(later_workloads, 2):
        tool = tool_of(spec.name)
        title = tool.title if tool else workload_title(spec.name) if spec.name in REGISTRY else spec.name
        loads[f"{title}, load {number} of {origin}"] = spec
    return loads


def offered_loads(saved_loads: Mapping[str, SavedLoad]) -> dict[str, WorkloadSpec]:
    """Return Pitwall's loads with defaults, and the saved ones; own prompts need a file, so only saved ones count."""
    defaults = {workload.title: spec_for(name) for name, workload in REGISTRY.items() if name != OWN_PROMPTS.name}
    return defaults | {f"{SAVED}{name}": spec_for(load.workload, load.params) for name, load in saved_loads.items()}
