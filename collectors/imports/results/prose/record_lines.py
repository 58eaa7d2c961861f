"""Finds the records in the lines that scripts print: 'RESULT: {...}', what Python prints, 'N=1 | wall=6.8s'."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from collectors.imports.results.prose.record_values import python_value

MAX_LINE_CHARS, LEAST_PAIRS, LEAST_LINES = 4_000, 3, 2
OBJECT = re.compile(r"(?P<prefix>[^{}\n]{0,120}?)(?P<object>\{\s?[\"'].{1,4000}\})\s{0,40}")
JSON_NAME = re.compile(r'\s{0,99}"[^"]{1,80}"\s{0,9}:\s{0,9}')
END_OF_STREAM = re.compile(r"\s{0,12}data: {0,4}\[DONE\]\s{0,40}")  # behind the objects of a streamed answer
LABEL = re.compile(r"(?P<label>[A-Za-z][\w .=/-]{0,40}?)\s{0,3}(?::|=>|->)")
NO_LABEL = re.compile(
    r"(?:final |bench(?:mark)? )?(?:results?|metrics?|summary|stats?|json|output|info|debug|data)", re.IGNORECASE
)
PART = re.compile(r"\s{0,9}\|\s{0,9}|[,;]\s{1,9}|\s{2,40}|\s(?=[A-Za-z][\w./%()-]{0,40}=)")
PAIR = re.compile(r"(?P<name>[A-Za-z][\w./%()-]{0,40}?)\s{0,4}[=~]\s{0,40}(?P<value>[^\s=][^=|]{0,60})")
BARE_PAIR = re.compile(
    r"(?P<name>[A-Za-z][\w./%()-]{0,40}) (?P<value>\d[\d.,/]{0,30}(?: ?[a-z%/]{1,12})?)"
)  # between bars
WARM_UP = re.compile(r"warm[- _]?up", re.IGNORECASE)
OPEN_PAIR = re.compile(r"[A-Za-z][\w./%()-]{0,40}\s{0,4}[=~]")


def with_bare_records(lines: Sequence[str]) -> list[str]:
    """Return lines with JSON for each that states a record; pairs are one where several lines state the same names."""
    objects = [_object_in(line) for line in lines]
    pairs = [None if record else _pairs_in(line) for record, line in zip(objects, lines, strict=True)]
    bare_lines = []
    for at, line in enumerate(lines):
        neighbours = [pairs[near] for near in (at - 1, at + 1) if 0 <= near < len(lines)]
        own_pairs = pairs[at]
        is_run = own_pairs and any(near and list(near) == list(own_pairs) for near in neighbours)
        record = objects[at] or (own_pairs if is_run else None)
        bare_lines.append(json.dumps(record) if record else "" if END_OF_STREAM.fullmatch(line) else line)
    return bare_lines


def _object_in(line: str) -> dict[str, Any] | None:
    """Return the object at the end of a line, with the name before it; None for another line, and for bare JSON."""
    match = OBJECT.fullmatch(line) if len(line) <= MAX_LINE_CHARS and "{" in line else None
    if match is None or (not match["prefix"].strip() and match["object"].startswith('{"')):
        return None
    if JSON_NAME.fullmatch(match["prefix"]):
        return None  # the last part of an object of several lines
    try:
        value = json.loads(match["object"])
    except (ValueError, RecursionError):
        value = python_value(match["object"])
    if not isinstance(value, dict) or not value:
        return None
    label = LABEL.fullmatch(match["prefix"].strip())
    name = label["label"].strip() if label and not NO_LABEL.fullmatch(label["label"].strip()) else None
    return ({"label": name} if name and "label" not in value else {}) | value


def _pairs_in(line: str) -> dict[str, str] | None:
    """Return the pairs of a line that states nothing else; None for any other."""
    if len(line) > MAX_LINE_CHARS or len(OPEN_PAIR.findall(line)) < LEAST_PAIRS or WARM_UP.search(line):
        return None
    joined = re.sub(r"(?<==)\s{1,40}", "", line.strip())
    parts = list(filter(None, PART.split(joined)))
    matches = [PAIR.fullmatch(part) or ("|" in line and BARE_PAIR.fullmatch(part)) for part in parts]
    values = {match["name"]: match["value"].strip() for match in matches if match}
    return values if len(values) == len(matches) else None
