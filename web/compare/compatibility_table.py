"""What runs where, as a table: a row a configuration, a column a kind of GPU."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.decide.compatibility import Outcome, Place, Stated, column_of
from reports.arms.compatibility import compatibility, published_places
from web import markup
from web.context import services
from web.kept import fold
from web.theme import DASH
from web.visible import visible_ids

UNKNOWN = "GPU not known"
STATED = {True: "pass", False: "fail", None: "not-tried"}
CHECKS = {Outcome.WORKS: "pass", Outcome.FAILS: "fail", Outcome.MIXED: "not-tried"}


def compatibility_section() -> None:
    """Over the runs that whoever looks may see; asked for when it is opened."""
    section = fold("What runs where: configurations and GPUs", "compatibility", "compare")
    if not section.open:
        return
    found = compatibility(services().store, visible_ids())
    with section:
        if not found:
            st.caption("No server that Pitwall launched has come up or failed yet.")
        st.html(compatibility_table(found, published_places()))
        st.caption("Rows 'as published' are what a document says, with its line: nothing of them was started here.")


def compatibility_table(found: Sequence[Place], stated: Sequence[Stated] = ()) -> str:
    """Own runs first; below them what documents say, in the column of our GPU where it is the same."""
    own = list(dict.fromkeys(one.gpu for one in found))
    said = {(one.configuration, column_of(one.gpu, own)): one for one in stated}
    gpus = list(dict.fromkeys([*own, *(gpu for _, gpu in said)]))
    by_place = {(one.configuration, one.gpu): one for one in found}
    rows = [
        [markup.text(name), *(_cell(by_place.get((name, gpu))) for gpu in gpus)]
        for name in dict.fromkeys(one.configuration for one in found)
    ]
    for name in dict.fromkeys(one.configuration for one in stated):
        source = next(one.source for one in stated if one.configuration == name)
        rows.append([_published_name(name, source), *(_stated_cell(said.get((name, str(gpu)))) for gpu in gpus)])
    return markup.table(["", *(markup.text(gpu or UNKNOWN) for gpu in gpus)], rows, wraps=True)


def _published_name(name: str, source: str) -> str:
    return f'{markup.text(name)} <span class="pw-muted">as published: {markup.text(source)}</span>'


def _stated_cell(one: Stated | None) -> str:
    if one is None:
        return markup.number(DASH, why="the document says nothing of it")
    return f'<span class="pw-check-{STATED[one.works]}">{markup.text(stated_words(one))}</span>'


def stated_words(one: Stated) -> str:
    """'works, up to ~25k tokens: Primary target (32 GB; line 100)'."""
    word = {True: "works", False: "does not work", None: "not tried"}[one.works]
    context = f", up to {one.most_context} tokens" if one.most_context else ""
    about = "; ".join(filter(None, [one.memory, f"line {one.line}"]))
    return f"{word}{context}: {one.words.rstrip('.')} ({about})"


def place_words(one: Place) -> str:
    """'works, 3 starts', 'fails: out of memory', '2 of 3 starts came up; the last failure: ...'."""
    starts = "1 start" if one.starts == 1 else f"{one.starts} starts"
    match one.outcome:
        case Outcome.WORKS:
            later = f"; one ended later: {one.cause}" if one.cause else ""
            return f"works, {starts}{later}"
        case Outcome.FAILS:
            return f"fails, {starts}: {one.cause or 'the cause is not known'}"
        case Outcome.MIXED:
            return f"{one.came_up} of {starts} came up; the last failure: {one.cause or 'the cause is not known'}"


def _cell(one: Place | None) -> str:
    if one is None:
        return markup.number(DASH, why="it was not started there")
    return f'<span class="pw-check-{CHECKS[one.outcome]}">{markup.text(place_words(one))}</span>'
