"""The values of the fields that distinguish runs, in the words of filters, groups and Explore."""

from __future__ import annotations

from collections.abc import Mapping

from domain import WATCH
from reports.runs.run_report import engine_title_of
from web.launch.loads.load_choice import workload_title
from web.words import reasons_in_words
from workloads import REGISTRY


def field_words(field: str, value: str, machines: Mapping[str, str]) -> str:
    """What has no words of its own stays as it is. `machines`: id -> title."""
    if field == "engine":
        return engine_title_of(value)
    if field == "machine":
        return machines.get(value, value)
    if field == "workload":
        return workload_title(value) if value in (*REGISTRY, WATCH.name) else value
    return reasons_in_words(value) or value if field == "method" else value  # a code where there is none
