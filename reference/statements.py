"""Claims, failures and validations from the published documents: rows with source and line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from reference.published import FOLDER

TABLES = ("failures", "validations", "claims", "configurations", "measurements")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?=\s*%)")  # a percentage that a quote prints exactly


class Failure(NamedTuple):
    """One failure that a document describes; `workaround` is the document's remedy, '' if it gives none."""

    id: str
    source: str
    line: int
    kind: str
    quote: str
    workaround: str
    cause_pattern: str
    flag: str
    issue: str = ""  # its number with the engine's developers, or its name there


class StatementCheck(NamedTuple):
    """One check of a published statement; inputs are ids: 's000.m041', 's000.A:context_len', 's003.google:quote'."""

    id: str
    source: str
    line: int
    formula: str
    inputs: tuple[tuple[str, ...], ...]
    stated_values: tuple[str, ...]
    tolerance: float
    meaning: str
    model: str


@cache
def read_table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of one file; '' is null."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@cache
def load_failures() -> tuple[Failure, ...]:
    """Return all failures in the order of the sources."""
    columns = ("kind", "quote", "workaround", "cause_pattern", "flag", "issue")
    return tuple(
        Failure(row["id"], row["source"], int(row["line"]), *(row[column] for column in columns))
        for row in read_table("failures")
    )


def failures_like(cause: str, command: str) -> list[Failure]:
    """Return published failures with a workaround whose pattern matches `cause` and whose flag is in `command`."""
    candidates = [failure for failure in load_failures() if failure.workaround and failure.cause_pattern]
    return [
        failure
        for failure in candidates
        if failure.flag in command and re.search(failure.cause_pattern, cause, re.IGNORECASE | re.DOTALL)
    ]


def failures_of_flag(command: str) -> list[Failure]:
    """Return published failures with a workaround that concern a flag of this command."""
    return [failure for failure in load_failures() if failure.workaround and failure.flag and failure.flag in command]


@cache
def load_checks() -> tuple[StatementCheck, ...]:
    """Return the statement checks in the order of the sources' lines."""
    return tuple(
        StatementCheck(
            row["id"],
            row["source"],
            int(row["line"]),
            row["formula"],
            tuple(tuple(group.split()) for group in row["inputs"].split(";") if group.strip()),
            tuple(row["stated"].split()),
            float(row["tolerance"]),
            row["meaning"],
            row["model"],
        )
        for row in read_table("checks")
    )


@cache
def load_models() -> Mapping[str, Mapping[str, Any]]:
    """Return the attention fields of each model's config.json, by model name."""
    models: dict[str, dict[str, Any]] = json.loads((FOLDER / "models.json").read_text(encoding="utf-8"))
    return models


def quoted_share(claim_id: str) -> str:
    """Return the last percentage that a claim's quote prints."""
    (claim,) = (row for row in read_table("claims") if row["id"] == claim_id)
    shares: list[str] = _NUMBER.findall(claim["quote"])
    return shares[-1]


def numbers_by_part(source: str) -> dict[str, frozenset[str]]:
    """Return the numbers of each part of a document that states everything twice, in document order."""
    rows = [row for row in read_table("numbers") if row["source"] == source]
    parts = dict.fromkeys(row["part"] for row in rows)
    return {part: frozenset(row["number"] for row in rows if row["part"] == part) for part in parts}
