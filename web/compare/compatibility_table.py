"""The compatibility table: one row per configuration, one column per kind of GPU."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.decide.compatibility import GpuCompatibility, StartupOutcome, StatedCompatibility, gpu_column
from reports.arms.compatibility import compatibility, published_compatibility
from web import markup
from web.context import services
from web.theme import DASH
from web.url_state import url_expander
from web.visibility import visible_ids

GPU_UNKNOWN = "GPU not known"
STATED = {True: "pass", False: "fail", None: "not-tried"}
CHECKS = {StartupOutcome.WORKS: "pass", StartupOutcome.FAILS: "fail", StartupOutcome.MIXED: "not-tried"}


def compatibility_section() -> None:
    """Show the table for the runs that the viewer may see; queried only when the section is open."""
    section = url_expander("Compatibility of configurations and GPUs", "compatibility", "compare")
    if not section.open:
        return
    places = compatibility(services().store, visible_ids())
    with section:
        if not places:
            st.caption("No server launched by Pitwall has become ready or failed yet.")
        st.html(compatibility_table(places, published_compatibility()))
        st.caption("Rows 'as published' quote a document with its line; none of them was started here.")


def compatibility_table(places: Sequence[GpuCompatibility], published: Sequence[StatedCompatibility] = ()) -> str:
    """Return the table as markup: own runs first, then published statements, in the column of the same GPU."""
    own_gpus = list(dict.fromkeys(place.gpu for place in places))
    published_by_place = {
        (statement.configuration, gpu_column(statement.gpu, own_gpus)): statement for statement in published
    }
    gpus = list(dict.fromkeys([*own_gpus, *(gpu for _, gpu in published_by_place)]))
    by_place = {(place.configuration, place.gpu): place for place in places}
    rows = [
        [markup.text(name), *(_cell(by_place.get((name, gpu))) for gpu in gpus)]
        for name in dict.fromkeys(place.configuration for place in places)
    ]
    for name in dict.fromkeys(statement.configuration for statement in published):
        source = next(statement.source for statement in published if statement.configuration == name)
        rows.append(
            [_published_name(name, source), *(_stated_cell(published_by_place.get((name, str(gpu)))) for gpu in gpus)]
        )
    return markup.table(["", *(markup.text(gpu or GPU_UNKNOWN) for gpu in gpus)], rows, wraps=True)


def _published_name(name: str, source: str) -> str:
    return f'{markup.text(name)} <span class="pw-muted">as published: {markup.text(source)}</span>'


def _stated_cell(statement: StatedCompatibility | None) -> str:
    if statement is None:
        return markup.number(DASH, why="the document does not say")
    return f'<span class="pw-check-{STATED[statement.works]}">{markup.text(statement_text(statement))}</span>'


def statement_text(statement: StatedCompatibility) -> str:
    """'works, up to ~25k tokens: Primary target (32 GB; line 100)'."""
    verdict = {True: "works", False: "does not work", None: "not tried"}[statement.works]
    context = f", up to {statement.most_context} tokens" if statement.most_context else ""
    source_note = "; ".join(filter(None, [statement.memory, f"line {statement.line}"]))
    return f"{verdict}{context}: {statement.words.rstrip('.')} ({source_note})"


def place_text(place: GpuCompatibility) -> str:
    """'works, 3 starts', 'fails: out of memory', '2 of 3 starts became ready; the last failure: ...'."""
    starts = "1 start" if place.starts == 1 else f"{place.starts} starts"
    match place.outcome:
        case StartupOutcome.WORKS:
            end_note = f"; one ended later: {place.cause}" if place.cause else ""
            return f"works, {starts}{end_note}"
        case StartupOutcome.FAILS:
            return f"fails, {starts}: {place.cause or 'the cause is not known'}"
        case StartupOutcome.MIXED:
            return (
                f"{place.came_up} of {starts} became ready; the last failure: {place.cause or 'the cause is not known'}"
            )


def _cell(place: GpuCompatibility | None) -> str:
    if place is None:
        return markup.number(DASH, why="not started on this GPU")
    return f'<span class="pw-check-{CHECKS[place.outcome]}">{markup.text(place_text(place))}</span>'
