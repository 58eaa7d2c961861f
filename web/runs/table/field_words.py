"""Display texts for the values of fields that distinguish runs, in filters, groups and Explore."""

from __future__ import annotations

from collections.abc import Mapping

from domain import WATCH
from reports.runs.run_report import engine_title_of
from web.loads.forms.load_choice import workload_title
from web.words import reasons_text
from workloads import REGISTRY


def field_value_text(field: str, value: str, machines: Mapping[str, str]) -> str:
    """Return a field value's display text, by default the value itself. machines: id -> title."""
    if field == "engine":
        return engine_title_of(value)
    if field == "machine":
        return machines.get(value, value)
    if field == "workload":
        return workload_title(value) if value in (*REGISTRY, WATCH.name) else value
    return reasons_text(value) or value if field == "method" else value  # a reason code if the method is unknown
