"""Tells the arms of a text apart: which of its headings what a tool printed stands under."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.quantizations import (
    names_other_quantization,
    quantization_in_name,
    without_quantization,
)
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_settings import read_settings
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import RATES

DEGREE = "tensor_parallel"
SHARED_FACTS, SHARED_FIELDS = ("engine", "gpu"), ("quantization",)  # parameters, and fields of the configuration


def tables_by_heading(tables: Sequence[Table]) -> list[list[Table]]:
    """Return the tables of each heading that tells tables apart."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(table.heading, []).append(table)
    return [*groups.values()]


def name_arms(loads: Sequence[LoadBuilder], sections: Sections) -> None:
    """Give loads that nothing right above them tells apart the headings that not all of the text's loads have."""
    placed_loads = [load for load in loads if load.line]
    names = sections.headings_among({load.line for load in placed_loads if load.line})
    headings = [(load.tool, load.line, load.params.get("heading")) for load in placed_loads]
    for load, (tool, line, heading) in zip(placed_loads, headings, strict=True):
        has_own_heading = heading and not any(
            (other_tool, other_heading) == (tool, heading) and other_line != line
            for other_tool, other_line, other_heading in headings
        )
        name = names.get(line or 0, "")
        if name and not has_own_heading:
            load.params["heading"] = f"{name}, {heading}" if heading and str(heading) not in name else name


def names_by_metric(loads: Sequence[LoadBuilder]) -> list[set[str]]:
    """Return the names of the results of each metric and statistic: their points, behind the heading of their load.

    A speed without a metric may be of any.
    """
    names: dict[tuple[str, str, str], set[str]] = {}
    for load in loads:
        for row in load.result_rows:
            name = f"{load.params.get('heading', '')} {row.point}"
            names.setdefault((row.unit, row.metric, row.statistic), set()).add(name)
    return [
        own_names | (names.get((unit, STATED, STATED), set()) if unit in RATES else set())
        for (unit, _, _), own_names in names.items()
    ]


def share_settings(loads: Sequence[LoadBuilder], document: LoadBuilder, text: str) -> None:
    """Give the loads of tools that print no model, and no parallelism, what the text states of both.

    What the heading of an arm states is of that arm alone: 'TP=2' above the second is not of the first.
    """
    settings_of_headings = [read_settings(str(load.params.get("heading") or "")) for load in loads]
    is_of_arms = len({load.params.get("heading") for load in loads if load is not document}) > 1
    has_models = is_of_arms and any(heading.model for heading in settings_of_headings)
    has_degrees = is_of_arms and any(heading.tensor_parallel for heading in settings_of_headings)
    for load, own_settings in zip(loads, settings_of_headings, strict=True):
        if load is document:
            continue
        load.model = _model_under(str(load.params.get("heading") or ""), load.model)
        degree = own_settings.tensor_parallel if has_degrees else document.server_config.get(DEGREE)
        config = document.server_config | {DEGREE: degree}
        config = {name: value for name, value in config.items() if value is not None and name not in load.server_config}
        facts = {name: document.params[name] for name in SHARED_FACTS if name in document.params.keys() - load.params}
        is_of_document = not has_models and not _is_of_next_section(load, document.model, text)
        model = None if load.model else document.model if is_of_document else own_settings.model
        load.model = load.model or model
        load.params |= facts
        load.server_config |= config
        words = [*([model] if model else []), *facts.values(), *(config.get(name) for name in SHARED_FIELDS)]
        listed = ", ".join(str(word) for word in words if word)
        load.notes += [f"Read from the words around the results: {listed}."] if listed else []


def _model_under(heading: str, model: str | None) -> str | None:
    """Return the model of a load, without its quantization if the heading of its arm names another precision."""
    quantization = quantization_in_name(model or "")
    is_other = quantization is not None and names_other_quantization(heading, quantization)
    return without_quantization(model) if model and is_other else model


def _is_of_next_section(load: LoadBuilder, model: str | None, text: str) -> bool:
    """Return whether a text names the model first in a heading below the load's results."""
    if not model or load.line is None:
        return False
    numbered_lines = enumerate(text.splitlines(), 1)
    line, words = next(((number, line) for number, line in numbered_lines if model in line), (0, ""))
    return line > load.line and words.startswith("#")
