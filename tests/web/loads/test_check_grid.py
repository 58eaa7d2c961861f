"""The grid of checks on Run."""

from __future__ import annotations

from datetime import UTC, datetime

from streamlit.testing.v1 import AppTest

from load_records import SuiteCheck
from web.loads.panels.check_grid import grid, score
from web.theme import DASH

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def check(case: str, mode: str, is_pass: bool | None, why: str | None = None) -> SuiteCheck:
    return SuiteCheck("r", "l", NOW, "tool calls", case, mode, is_pass, why)


CHECKS = [
    check("Single call", "streaming", True),
    check("Single call", "whole", False, "the tag '<|x|>' leaked"),
    check("Full loop", "streaming", None, 'HTTP 400: "no"'),
]


def test_a_row_is_a_case_and_a_column_a_mode() -> None:
    head, cells = grid(CHECKS)
    assert head == ["", "streaming", "whole"]
    assert [row[0] for row in cells] == ["Single call", "Full loop"]
    assert cells[0][1] == '<span class="pw-check-pass">pass</span>'
    assert "not tried" in cells[1][1] and cells[1][2] == DASH


def test_why_stands_on_hover_as_text() -> None:
    _, cells = grid(CHECKS)
    assert '<abbr title="the tag &#x27;&lt;|x|&gt;&#x27; leaked">fail</abbr>' in cells[0][2]
    assert 'title="HTTP 400: &quot;no&quot;"' in cells[1][1]


def test_the_score_counts_what_was_not_tried() -> None:
    assert score("tool calls", CHECKS) == "tool calls: 1 of 3 pass, 1 not tried"
    assert score("tool calls", CHECKS[:2]) == "tool calls: 1 of 2 pass"


def test_first_failed_exchange_is_shown_first() -> None:
    def script(checks: list) -> None:  # type: ignore[type-arg]  # its text alone is run
        from web.loads.panels.check_grid import show_check_grids

        show_check_grids(checks)

    at = AppTest.from_function(script, kwargs={"checks": CHECKS}).run(timeout=30)
    assert not at.exception
    assert at.selectbox[0].value == 1 and at.selectbox[0].options[1] == "Single call, whole"
    at.selectbox[0].set_value(2).run()
    assert not at.exception and at.selectbox[0].value == 2
