"""What runs where, as a table: a row a configuration, a column a kind of GPU."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.decide.compatibility import Outcome, Place
from reports.arms.compatibility import compatibility
from web import markup
from web.context import services
from web.theme import DASH
from web.visible import visible_ids

UNKNOWN = "GPU not known"
CHECKS = {Outcome.WORKS: "pass", Outcome.FAILS: "fail", Outcome.MIXED: "not-tried"}


def compatibility_section() -> None:
    """Over the runs that whoever looks may see; asked for when it is opened."""
    section = st.expander("What runs where: configurations and GPUs", key="compatibility", on_change="rerun")
    if not section.open:
        return
    found = compatibility(services().store, visible_ids())
    with section:
        if found:
            st.html(compatibility_table(found))
        else:
            st.caption("No server that Pitwall launched has come up or failed yet.")


def compatibility_table(found: Sequence[Place]) -> str:
    gpus = list(dict.fromkeys(one.gpu for one in found))
    by_place = {(one.configuration, one.gpu): one for one in found}
    rows = [
        [markup.text(name), *(_cell(by_place.get((name, gpu))) for gpu in gpus)]
        for name in dict.fromkeys(one.configuration for one in found)
    ]
    return markup.table(["", *(markup.text(gpu or UNKNOWN) for gpu in gpus)], rows, wraps=True)


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
