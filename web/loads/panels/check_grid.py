"""The checks of a load as a grid of cases and modes, with reasons on hover and the exchanges on demand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from load_records import VERDICTS, SuiteCheck
from web import markup
from web.theme import DASH


def show_check_grids(checks: Sequence[SuiteCheck]) -> None:
    """Show one grid per suite; nothing if there are no checks."""
    for suite, group in groupby(sorted(checks, key=lambda check: check.suite), key=lambda check: check.suite):
        suite_checks = list(group)
        st.html(f"<p>{markup.text(score(suite, suite_checks))}</p>{markup.table(*grid(suite_checks))}")
        _show_exchanges(suite_checks)


def score(suite: str, checks: Sequence[SuiteCheck]) -> str:
    """Return a text such as 'tool calls: 12 of 14 pass, 2 not tried'."""
    passed = sum(check.is_pass is True for check in checks)
    untried = sum(check.is_pass is None for check in checks)
    return f"{suite}: {passed} of {len(checks)} pass" + (f", {untried} not tried" if untried else "")


def grid(checks: Sequence[SuiteCheck]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells as markup: one row per case, one column per mode."""
    cases = list(dict.fromkeys(check.case_name for check in checks))
    modes = list(dict.fromkeys(check.mode for check in checks))
    by_case = {(check.case_name, check.mode): check for check in checks}
    cells = [[markup.text(case), *(_cell(by_case.get((case, mode))) for mode in modes)] for case in cases]
    return ["", *map(markup.text, modes)], cells


def _cell(check: SuiteCheck | None) -> str:
    if check is None:
        return DASH
    verdict = VERDICTS[check.is_pass]
    return f'<span class="pw-check-{verdict.replace(" ", "-")}">{markup.hint(verdict, check.why)}</span>'


def _show_exchanges(checks: Sequence[SuiteCheck]) -> None:
    """Show request and response of the selected case, initially the first that did not pass."""
    labels = [f"{check.case_name}, {check.mode}" for check in checks]
    first = next((number for number, check in enumerate(checks) if not check.is_pass), 0)
    key = f"exchange-{checks[0].load_id}-{checks[0].suite}"
    with st.popover("Requests and responses"):
        index = st.selectbox("Case", range(len(checks)), first, format_func=labels.__getitem__, key=key)
        selected = checks[index]
        st.html(f"<p>{markup.text(': '.join(filter(None, [VERDICTS[selected.is_pass], selected.why])))}</p>")
        st.json(selected.exchange, expanded=4)
