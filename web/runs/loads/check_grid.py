"""The checks of a load as a grid of cases and modes, why on hover; what was said to the server and back on demand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from load_records import VERDICTS, Check
from web import markup
from web.theme import DASH


def check_grids(checks: Sequence[Check]) -> None:
    """A grid a suite; nothing where nothing was checked."""
    for suite, group in groupby(sorted(checks, key=lambda check: check.suite), key=lambda check: check.suite):
        together = list(group)
        st.html(f"<p>{markup.text(score(suite, together))}</p>{markup.table(*grid(together))}")
        _exchanges(together)


def score(suite: str, checks: Sequence[Check]) -> str:
    """'tool calls: 12 of 14 pass, 2 not tried'."""
    passed = sum(check.is_pass is True for check in checks)
    untried = sum(check.is_pass is None for check in checks)
    return f"{suite}: {passed} of {len(checks)} pass" + (f", {untried} not tried" if untried else "")


def grid(checks: Sequence[Check]) -> tuple[list[str], list[list[str]]]:
    """Head and cells, which are markup: a row a case, a column a mode."""
    cases = list(dict.fromkeys(check.case_name for check in checks))
    modes = list(dict.fromkeys(check.mode for check in checks))
    by_place = {(check.case_name, check.mode): check for check in checks}
    cells = [[markup.text(case), *(_cell(by_place.get((case, mode))) for mode in modes)] for case in cases]
    return ["", *map(markup.text, modes)], cells


def _cell(check: Check | None) -> str:
    if check is None:
        return DASH
    words = VERDICTS[check.is_pass]
    return f'<span class="pw-check-{words.replace(" ", "-")}">{markup.hint(words, check.why)}</span>'


def _exchanges(checks: Sequence[Check]) -> None:
    """What was asked and answered, of the case that is chosen; the first that did not pass to begin with."""
    places = [f"{check.case_name}, {check.mode}" for check in checks]
    first = next((place for place, check in enumerate(checks) if not check.is_pass), 0)
    key = f"exchange-{checks[0].load_id}-{checks[0].suite}"
    with st.popover("What was asked and answered"):
        at = st.selectbox("Case", range(len(checks)), first, format_func=places.__getitem__, key=key)
        chosen = checks[at]
        st.html(f"<p>{markup.text(': '.join(filter(None, [VERDICTS[chosen.is_pass], chosen.why])))}</p>")
        st.json(chosen.exchange, expanded=4)
