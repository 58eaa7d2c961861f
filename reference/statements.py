"""What the published documents claim, what failed there and what was validated: rows with source and line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from reference.published import FOLDER

TABLES = ("failures", "validations", "claims", "configurations", "measurements")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?=\s*%)")  # a share that a quote prints, not one that it rounds


class Failure(NamedTuple):
    """One failure that a document describes; `workaround` is what it did about it, '' where it says nothing."""

    id: str
    source: str
    line: int
    kind: str
    quote: str
    workaround: str
    cause_pattern: str
    flag: str


class Row(NamedTuple):
    """One check of a published statement, its inputs by id: 's000.m041', 's000.A:context_len', 's003.google:quote'."""

    id: str
    source: str
    line: int
    formula: str
    inputs: tuple[tuple[str, ...], ...]
    stated: tuple[str, ...]
    tolerance: float
    meaning: str
    model: str


@cache
def read_table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one file; '' is null."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@cache
def load_failures() -> tuple[Failure, ...]:
    """All failures in the order of the sources."""
    words = ("kind", "quote", "workaround", "cause_pattern", "flag")
    return tuple(
        Failure(row["id"], row["source"], int(row["line"]), *(row[word] for word in words))
        for row in read_table("failures")
    )


def failures_like(cause: str, command: str) -> list[Failure]:
    """Published failures with a workaround whose cause these words name, by pattern; a flag must be in the command."""
    found = [one for one in load_failures() if one.workaround and one.cause_pattern]
    return [
        one for one in found if one.flag in command and re.search(one.cause_pattern, cause, re.IGNORECASE | re.DOTALL)
    ]


def failures_of_flag(command: str) -> list[Failure]:
    """Published failures with a workaround that are about a flag of this command."""
    return [one for one in load_failures() if one.workaround and one.flag and one.flag in command]


@cache
def load_checks() -> tuple[Row, ...]:
    """The checks of statements, in the order of the sources' lines."""
    return tuple(
        Row(
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
    """The fields of models' config.json that describe their attention, by the model's name."""
    models: dict[str, dict[str, Any]] = json.loads((FOLDER / "models.json").read_text(encoding="utf-8"))
    return models


def quoted_share(claim_id: str) -> str:
    """The share in per cent that a claim's quote prints last."""
    (claim,) = (row for row in read_table("claims") if row["id"] == claim_id)
    shares: list[str] = _NUMBER.findall(claim["quote"])
    return shares[-1]


def numbers_by_part(source: str) -> dict[str, frozenset[str]]:
    """The numbers of each part of a document that says everything twice, the first part first."""
    rows = [row for row in read_table("numbers") if row["source"] == source]
    parts = dict.fromkeys(row["part"] for row in rows)
    return {part: frozenset(row["number"] for row in rows if row["part"] == part) for part in parts}
