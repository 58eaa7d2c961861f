"""The share of posted logs that is read right: scored where PITWALL_CORPUS names a folder of them.

Such a folder holds `<engine>/<name>.log` with `<name>.expected.json` beside it: {"samples", "startup", "errors"}.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engines import ENGINES
from engines.parse import parse_file

CORPUS = os.environ.get("PITWALL_CORPUS")
NOT_SCORED = {"line", "rule", "notes", "runs"}


def same(wanted: Any, got: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and all(map(same, wanted, got))
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(same(value, got.get(key)) for key, value in wanted.items())
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return bool(wanted == got)
    is_number = isinstance(got, int | float) and not isinstance(got, bool)
    return is_number and math.isclose(wanted, got, rel_tol=1e-4, abs_tol=1e-6)


def squeeze(text: str) -> str:
    return " ".join(text.split()).lower()


def is_reported(text: str, errors: list[str]) -> bool:
    """Whether one of the first five names the cause; either may be the longer text."""
    cause, told = squeeze(text), [squeeze(error) for error in errors[:5]]
    return any(cause[:80] in error or (len(error) > 20 and error in cause) for error in told)


def pairs(fields: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    return ((key, same(value, got.get(key))) for key, value in fields.items() if key not in NOT_SCORED)


def points(expected: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """One point for each field, start-up fact and cause; a sample on a line where none is expected is one lost."""
    by_line = {sample["line"]: sample for sample in fields["samples"]}
    for sample in expected.get("samples", []):
        have = by_line.pop(sample["line"], {})
        yield from ((f"line {sample['line']} {key}", ok) for key, ok in pairs(sample, have))
    yield from ((f"line {line}: no such sample", False) for line in by_line)
    yield from pairs(expected.get("startup") or {}, fields["startup"])
    causes = expected.get("errors", [])
    yield from ((f"error {cause}", is_reported(cause, fields["errors"])) for cause in causes)
    if not causes:
        yield "no error", not fields["errors"]


def parse(path: Path) -> dict[str, Any]:
    out = io.StringIO()
    parse_file(path, ENGINES, out)
    parsed: dict[str, Any] = json.loads(out.getvalue())
    return parsed


@pytest.mark.skipif(not CORPUS, reason="PITWALL_CORPUS names no folder of posted logs: only Pitwall's own are read")
@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "trtllm"])
def test_posted_logs_are_read_right(engine: str) -> None:
    tally: Counter[bool] = Counter()
    missed = []
    for expectation in sorted(Path(CORPUS or "").glob(f"{engine}/*.expected.json")):
        log = expectation.with_name(expectation.name.replace(".expected.json", ".log"))
        fields = parse(log)
        assert fields["engine"] == engine, log.name
        for what, is_right in points(json.loads(expectation.read_text()), fields):
            tally[is_right] += 1
            missed += [] if is_right else [f"{log.name}: {what}"]
    assert tally.total(), f"{CORPUS} holds no log of {engine}"
    assert tally[True] / tally.total() >= 0.99, missed


@pytest.mark.skipif(not CORPUS, reason="PITWALL_CORPUS names no folder of posted logs: only Pitwall's own are read")
def test_every_posted_log_is_recognised_and_read() -> None:
    for log in sorted(Path(CORPUS or "").glob("*/*.log")):
        assert parse(log)["engine"] == log.parent.name, log.name
