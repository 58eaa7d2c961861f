"""Tells the arms of a text apart: which of its headings what a tool printed stands under."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.prose.sections import Sections
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
        is_told = heading and not any(
            (other_tool, other_heading) == (tool, heading) and other_line != line
            for other_tool, other_line, other_heading in headings
        )
        name = names.get(line or 0, "")
        if name and not is_told:
            load.params["heading"] = f"{name}, {heading}" if heading and str(heading) not in name else name
