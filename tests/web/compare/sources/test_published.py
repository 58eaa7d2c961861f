"""Published numbers are shown as such: with their line, and a doubtful one with what is wrong."""

from __future__ import annotations

from reference.published import load_published
from web.compare.sources.published import numbers_table, statements_table


def test_numbers_have_lines_and_doubts_below() -> None:
    published = load_published()
    shown_numbers_table = numbers_table([published["s000.A"], published["s000.D"]])
    assert "109.8 <small>tok/s</small> <small>line 13</small>" in shown_numbers_table
    assert "about 93.8 <small>tok/s</small> <small>line 16</small>" in shown_numbers_table
    assert "doubt 1" in shown_numbers_table and "no request of full length fits" in shown_numbers_table
    assert 'title="the source does not say it"' in shown_numbers_table


def test_same_title_numbers_keep_conditions_apart() -> None:
    shown_numbers_table = numbers_table([load_published()["s001.fp8_tp1"]])
    assert "1 at once, 128 prompt tokens, 32 generated, depth 0" in shown_numbers_table


def test_what_a_source_states_has_its_line() -> None:
    shown_statements_table = statements_table([load_published()["s000.A"], load_published()["s000.B"]])
    assert (
        "262144 <small>line 81</small>" in shown_statements_table
        and "262144 <small>line 114</small>" in shown_statements_table
    )
