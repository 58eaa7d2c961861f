"""Further loads on the same server start, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from domain import WorkloadSpec
from web.launch.draft import LaunchDraft
from web.loads.forms.load_choice import SAVED, load_library, workload_title
from workloads import REGISTRY, spec_for
from workloads.process.external_tools import tool_of
from workloads.saved_loads import SavedLoad
from workloads.shapes.own_prompts import OWN_PROMPTS

ABOUT = (
    "All run on one server start, in this order: each is compared separately, and the model is loaded once. A load "
    "uses its saved parameters, or else its defaults."
)


def choose_later(draft: LaunchDraft, key: str) -> tuple[WorkloadSpec, ...]:
    """Return the selected loads in order; a relaunch starts with those of its run."""
    run_loads = loads_of_run(draft.later_workloads, draft.origin or "before")
    options = {**run_loads, **offered_loads(load_library().all())}
    selected = st.multiselect("Then, on the same server", list(options), list(run_loads), key=key, help=ABOUT)
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
