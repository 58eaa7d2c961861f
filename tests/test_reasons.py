"""Reasons are written to one text column and read back."""

from __future__ import annotations

import pytest

from reasons import Code, Reason, read_reason, write_reasons


@pytest.mark.parametrize("text", ["a; b", "x=1 y=2", "100 %", "%41", "", "\ud800", "two\nlines", "a\u00a0b", "ü"])
def test_value_survives_writing(text: str) -> None:
    reason = Reason(Code.NOT_A_NUMBER, values={"text": text})
    reasons = write_reasons([reason, Reason(Code.SD_OF_ONE_VALUE)]) or ""
    assert reasons.isascii() and reasons.endswith("; sd_of_one_value")
    parsed = read_reason(reasons.split("; ")[0])
    assert parsed == (reason if text != "\ud800" else Reason(Code.NOT_A_NUMBER, values={"text": "?"}))


def test_no_reasons_are_null() -> None:
    assert write_reasons([]) is None
