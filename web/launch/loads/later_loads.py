"""Further loads on the same server: one start serves them all, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from domain import WorkloadSpec
from web.launch.draft import Draft
from web.launch.loads.load_choice import SAVED, kept_loads, workload_title
from workloads import REGISTRY, spec_for
from workloads.process.driven import tool_of
from workloads.saved_loads import SavedLoad
from workloads.shapes.own_prompts import OWN_PROMPTS

ABOUT = (
    "One start of the server serves them all, one after the other in this order: each is compared by itself, and the "
    "model is loaded once. A load has the parameters that it was saved with, else those it begins with."
)


def choose_later(edited: Draft, key: str) -> tuple[WorkloadSpec, ...]:
    """Those chosen, in their order; a relaunch begins with those of its run."""
    own = own_loads(edited.later_workloads, edited.origin or "before")
    offered = {**own, **offered_loads(kept_loads().all())}
    chosen = st.multiselect("Then, on the same server", list(offered), list(own), key=key, help=ABOUT)
    return tuple(offered[one] for one in chosen)


def own_loads(later: Iterable[WorkloadSpec], origin: str) -> dict[str, WorkloadSpec]:
    """Those of a run under names that are all different: the same load may be put on it again."""
    found = dict[str, WorkloadSpec]()
    for number, spec in enumerate(later, 2):
        tool = tool_of(spec.name)
        title = tool.title if tool else workload_title(spec.name) if spec.name in REGISTRY else spec.name
        found[f"{title}, load {number} of {origin}"] = spec
    return found


def offered_loads(kept: Mapping[str, SavedLoad]) -> dict[str, WorkloadSpec]:
    """Pitwall's own as they begin, and those kept under a name; own prompts need a file, which a kept load has."""
    begun = {one.title: spec_for(name) for name, one in REGISTRY.items() if name != OWN_PROMPTS.name}
    return begun | {f"{SAVED}{name}": spec_for(load.workload, load.params) for name, load in kept.items()}
