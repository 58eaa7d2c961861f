"""The checks of a load as a grid of cases by mode or depth, with reasons on hover and the exchanges on demand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from analysis.loads.accuracy import wilson
from analysis.loads.check_items import depth_label, depth_title, verdicts_by_task
from analysis.loads.depth_holds import depth_holds
from load_records import VERDICTS, SuiteCheck
from web import markup
from web.loads.depth_words import ABOUT_DEPTHS, depth_text
from web.markup import markdown_text
from web.theme import DASH


def show_check_grids(checks: Sequence[SuiteCheck]) -> None:
    """Show one grid per suite; nothing if there are no checks."""
    for suite, group in groupby(sorted(checks, key=lambda check: check.suite), key=lambda check: check.suite):
        suite_checks = list(group)
        has_depths = any(check.depth_tokens is not None for check in suite_checks)
        table = markup.table(*(depth_grid if has_depths else grid)(suite_checks))
        st.html(f"<p>{markup.text(score(suite, suite_checks))}</p>{table}")
        for claims in depth_holds(suite_checks):
            st.markdown(f"**{markdown_text(suite.capitalize())}** {depth_text(claims)}.", help=ABOUT_DEPTHS)
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


def depth_grid(checks: Sequence[SuiteCheck]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells as markup: one row per case and mode, one column per depth, and the shares below."""
    depths = sorted({check.depth_tokens for check in checks if check.depth_tokens is not None})
    cells: dict[str, dict[int, list[SuiteCheck]]] = {}
    for check in checks:
        if check.depth_tokens is not None:
            by_depth = cells.setdefault(f"{check.case_name}, {check.mode}", {})
            by_depth.setdefault(check.depth_tokens, []).append(check)
    rows = [[markup.text(case), *(_count_cell(row.get(depth, [])) for depth in depths)] for case, row in cells.items()]
    tasks = {task.depth_tokens: list(verdicts.values()) for task, verdicts in verdicts_by_task(checks).items()}
    shares = ["Passed (95 %, Wilson)", *(_share_cell(tasks.get(depth, [])) for depth in depths)]
    return ["", *(f"{depth_label(depth)} tokens" for depth in depths)], [*rows, shares]


def _count_cell(checks: Sequence[SuiteCheck]) -> str:
    """Return '3 of 4' with the first reason on hover; cases that could not be tried do not count."""
    tried = [check for check in checks if check.is_pass is not None]
    if not tried:
        return _cell(next(iter(checks), None))
    passed = sum(check.is_pass is True for check in tried)
    name = "pass" if passed == len(tried) else "fail"
    why = next((check.why for check in tried if not check.is_pass), None)
    return f'<span class="pw-check-{name}">{markup.hint(f"{passed} of {len(tried)}", why)}</span>'


def _share_cell(verdicts: Sequence[bool]) -> str:
    if not verdicts:
        return DASH
    low, high = wilson(sum(verdicts), len(verdicts))
    return f"{100 * (sum(verdicts) / len(verdicts)):.0f} % ({100 * low:.0f} % to {100 * high:.0f} %)"


def _cell(check: SuiteCheck | None) -> str:
    if check is None:
        return DASH
    verdict = VERDICTS[check.is_pass]
    return f'<span class="pw-check-{verdict.replace(" ", "-")}">{markup.hint(verdict, check.why)}</span>'


def _show_exchanges(checks: Sequence[SuiteCheck]) -> None:
    """Show request and response of the selected case, initially the first that did not pass."""
    labels = [_label(check) for check in checks]
    first = next((number for number, check in enumerate(checks) if not check.is_pass), 0)
    key = f"exchange-{checks[0].load_id}-{checks[0].suite}"
    with st.popover("Requests and responses"):
        index = st.selectbox("Case", range(len(checks)), first, format_func=labels.__getitem__, key=key)
        selected = checks[index]
        st.html(f"<p>{markup.text(': '.join(filter(None, [VERDICTS[selected.is_pass], selected.why])))}</p>")
        st.json(selected.exchange, expanded=4)


def _label(check: SuiteCheck) -> str:
    """'Single call, streaming', or 'Single call, streaming, after 8k tokens, 2'."""
    parts = [check.case_name, check.mode]
    if check.depth_tokens is not None:
        parts += [depth_title(check.depth_tokens), str(check.repeat)]
    return ", ".join(parts)
