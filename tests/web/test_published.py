"""Published numbers are shown as such: with their line, and a doubtful one with what is wrong."""

from __future__ import annotations

from reference.published import load_published
from web.published import side_by_side


def test_each_number_has_its_line_and_a_doubt_is_said_below() -> None:
    published = load_published()
    shown = side_by_side([published["s000.A"], published["s000.D"]])
    assert "109.8 <small>tok/s</small> <small>line 13</small>" in shown
    assert "about 93.8 <small>tok/s</small> <small>line 16</small>" in shown
    assert "doubt 1" in shown and "no request of full length fits" in shown
    assert 'title="the source does not say it"' in shown


def test_numbers_of_one_title_keep_their_conditions_apart() -> None:
    shown = side_by_side([load_published()["s001.fp8_tp1"]])
    assert "1 at once, 128 prompt tokens, 32 generated, depth 0" in shown
