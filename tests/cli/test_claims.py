"""`./pitwall claims` says each check in a line, and the same as JSON."""

from __future__ import annotations

import json

import pytest

from cli.main import main


def test_claims_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "63 checks, 9 contradictions. All numbers are as published."
    assert any(line.startswith("[contradicted] s004.x2conc, source 004 line 5: ratio = 1.643") for line in lines)
    assert sum(line.startswith("[cannot be decided]") for line in lines) == 1


def test_claims_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 63 and sum(row["agrees"] is False for row in rows) == 9
    (same,) = (row for row in rows if row["id"] == "x.s000.kv_A_equals_B")
    assert same["recomputed"] == [876006.0, 876006.0] and same["inputs"][0] == "s000.m041" and same["meaning"]
