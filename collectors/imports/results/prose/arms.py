"""Tells the arms of a text apart: which of its headings what a tool printed stands under."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_settings import read_settings
from collectors.imports.results.prose.tables import Table


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


def share_settings(loads: Sequence[LoadBuilder], document: LoadBuilder, text: str) -> None:
    """Give the loads of tools that print no model, and no parallelism, what the text states of both.

    What the heading of an arm states is of that arm alone: 'TP=2' above the second is not of the first.
    """
    settings_of_headings = [read_settings(str(load.params.get("heading") or "")) for load in loads]
    is_of_arms = len({load.params.get("heading") for load in loads if load is not document}) > 1
    has_models = is_of_arms and any(heading.model for heading in settings_of_headings)
    has_degrees = is_of_arms and any(heading.tensor_parallel for heading in settings_of_headings)
    for load, own_settings in zip(loads, settings_of_headings, strict=True):
        if has_degrees and load is not document:
            degree = {"tensor_parallel": own_settings.tensor_parallel} if own_settings.tensor_parallel else {}
            load.server_config = degree | load.server_config
        else:
            load.server_config = document.server_config | load.server_config
        is_of_document = not has_models and not _is_of_next_section(load, document.model, text)
        model = document.model if is_of_document else own_settings.model
        if model and load.model is None:
            load.model = model
            load.notes.append(f"Read from the words around the results: {model}.")


def _is_of_next_section(load: LoadBuilder, model: str | None, text: str) -> bool:
    """Return whether a text names the model first in a heading below the load's results."""
    if not model or load.line is None:
        return False
    numbered_lines = enumerate(text.splitlines(), 1)
    line, words = next(((number, line) for number, line in numbered_lines if model in line), (0, ""))
    return line > load.line and words.startswith("#")
