"""Says what a file looks like that nobody reads, so that its owner sees what was recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from collectors.imports.results.prose.figure_marks import FIGURE
from collectors.imports.results.prose.number_text import with_joined_thousands
from collectors.imports.results.prose.units import pattern_of, unit_in
from collectors.imports.results.source import ResultFile
from redaction import mask_text

NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
PART_OF_OBJECT = re.compile(r'"(?P<name>[^"]{1,60})"\s{0,9}:')
MAX_NAMES = 6
MAX_NAME_CHARS = 40
MAX_LINE_CHARS = 80
MAX_LINES, MAX_CHARS, MAX_PASSAGES = 400, 1000, 3
WORDS_BEFORE = r"(?<![\w.])(?:[^\W\d][^\s\d]{0,20} {1,3}){0,5}"
FIGURE_WITH_WORDS = re.compile(  # 'cost: 24s'
    rf"{WORDS_BEFORE}[~≈<>]?\d[\d.,]{{0,12}} ?"
    rf"(?:{pattern_of('tok/s', 'requests/s', 'ms', 's')})(?![A-Za-z\d_])",
    re.IGNORECASE,
)
TOKENS_WITHOUT_TIME = re.compile(
    rf"{WORDS_BEFORE}\d[\d.,]{{0,12}} (?:\w{{1,12}} )?tokens(?: per){{1,2}} (?:user|request|gpu|card)\b(?! per|/)",
    re.IGNORECASE,
)
JSON_START = re.compile(r'\s{0,99}(?:\{\s{0,99}"|\[\s{0,99}[{"])')
UNIT_IN_BRACKETS = re.compile(rf"[(\[](?:{pattern_of('tok/s', 'requests/s', 'ms', 's')})[)\]]", re.IGNORECASE)
NUMBER_BEHIND_NAME = re.compile(  # 'PROMPT PROCESSING IS 250'
    r"\b(?:TTFT|TPOT|ITL|latency|throughput|prefill|decod(?:e|ing)|prompt processing|(?:token )?generation|speed|tps)\b"
    r"[^\d\n]{0,20}\d",
    re.IGNORECASE,
)
EXPOSITION = re.compile(r"# (?:HELP|TYPE) [A-Za-z_:][\w:]{0,200} ")
MEASURED = re.compile(
    r"(?<![A-Za-z\d])(?:TTFT|TPOT|ITL|latency|throughput|tokens per second)(?![A-Za-z\d])", re.IGNORECASE
)


def looks_of(source: ResultFile) -> str:
    """Return what a file looks like: 'a JSON object with the keys a, b', 'a table of ...', 'a text that begins ...'."""
    head = source.head
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    first_line = lines[0] if lines else ""
    if not lines:
        return "an empty text"
    if "\x00" in head:
        return "a binary file"
    if first_line.startswith(("{", "[")) and (description := _json_looks(head, first_line)):
        return description
    if part := PART_OF_OBJECT.match(first_line):
        return f"a part of a JSON object, which begins with “{mask_text(part['name'])}”"
    if len(lines) > 1 and all(_is_headless_row(line) for line in lines[:2]):
        return "comma-separated values without a line that names their columns"
    columns = [name.strip().strip('"') for name in first_line.split(",")]
    is_table = (
        len(lines) > 1
        and len(columns) > 2
        and not set("{}") & set(first_line)
        and lines[1].count(",") >= len(columns) - 1
    )
    if is_table and all(0 < len(name) <= MAX_NAME_CHARS for name in columns[1:]):
        return f"a table of comma-separated values with the columns {listed_names(columns)}"
    if EXPOSITION.match(first_line):
        return (
            "the metrics of a server in Prometheus' text format, without a counter of an engine that Pitwall reads and "
            "that has counted something"
        )
    if first_line.startswith("<"):
        return "HTML or XML"
    return f"a text that begins “{mask_text(first_line)[:MAX_LINE_CHARS]}”"


def metrics_without_unit(source: ResultFile) -> str:
    """Return a sentence on the metrics that lines of a text name beside numbers if none states a unit; else empty."""
    if is_json(source):  # its keys are names, and its texts are prose
        return ""
    lines = source.head.replace("%", " ").splitlines()  # a share of a speed is no unit of it
    named = [line for line in lines if MEASURED.search(line) and NUMBER.search(line)]
    names = list(dict.fromkeys(name for line in named for name in MEASURED.findall(line)))[:MAX_NAMES]
    if not names or any(unit_in(line) or FIGURE.search(line) for line in lines):
        return ""
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f" It names {listed}, but states no unit for their numbers: {_quoted(_shortened(named))}."


def is_json(source: ResultFile) -> bool:
    """Return whether a file is JSON as far as its ends tell, so that its lines are none of a text."""
    return JSON_START.match(source.head) is not None and (source.tail or source.head).rstrip()[-1:] in ("}", "]")


def figures_left_out(source: ResultFile) -> str:
    """Return a sentence on the figures of a text that are read as no results, or on the lack of any."""
    lines = with_joined_thousands(source.head).splitlines()[:MAX_LINES]
    timeless = [match[0].strip() for line in lines for match in TOKENS_WITHOUT_TIME.finditer(line[:MAX_CHARS])]
    if timeless:
        return f" It states {_quoted(timeless)}, but not in how much time."
    figures = [match[0].strip() for line in lines for match in FIGURE_WITH_WORDS.finditer(line[:MAX_CHARS])]
    if figures:
        return (
            f" It states {_quoted(figures)}, but no words say that this is a speed or a latency of a model that was "
            "measured: what is asked, wished, expected, or published by others is no result."
        )
    lines = source.head.splitlines()[:MAX_LINES]
    with_units = [line for line in lines if NUMBER.search(line) and UNIT_IN_BRACKETS.search(line[:MAX_CHARS])]
    if with_units:
        return f" Units of speeds or times stand in {_quoted(_shortened(with_units))}, but in no form that is read."
    named = [line for line in lines if NUMBER_BEHIND_NAME.search(line[:MAX_CHARS])]
    quoted = f": {_quoted(_shortened(named))}" if named else ""
    return f" None of its numbers has a unit of a speed or a time (tok/s, requests/s, ms, s){quoted}."


def _shortened(lines: Sequence[str]) -> list[str]:
    return [" ".join(mask_text(line).split())[:MAX_LINE_CHARS] for line in lines]


def _quoted(passages: Sequence[str]) -> str:
    """Return the first passages in quotes, masked."""
    quoted_passages = [f"“{mask_text(passage)}”" for passage in dict.fromkeys(passages)]
    return ", ".join(quoted_passages[:MAX_PASSAGES]) + (" …" if len(quoted_passages) > MAX_PASSAGES else "")


def _is_headless_row(line: str) -> bool:
    cells = [cell.strip() for cell in line.split(",")]
    return len(cells) > 2 and sum(NUMBER.fullmatch(cell) is not None for cell in cells) > 1


def _json_looks(head: str, first_line: str) -> str | None:
    """Return the kind of JSON with the keys of its first object, as far as the first bytes have them."""
    value = _first_value(head.lstrip())
    if isinstance(value, dict):
        is_lines = first_line.endswith("}") and "\n{" in head.strip()
        return f"{'lines of JSON' if is_lines else 'a JSON object'} with the keys {listed_names(list(value))}"
    if isinstance(value, list):
        first_item = value[0] if value else None
        keys = f" of objects with the keys {listed_names(list(first_item))}" if isinstance(first_item, dict) else ""
        return f"a JSON list{keys}"
    names = [part.split('"')[-1] for part in head.split('":', MAX_NAMES)[:-1]]
    return f"JSON with the keys {listed_names(names)}" if names else None


def _first_value(text: str) -> Any:
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if not text[end:].partition("\n")[0].strip() else None  # the rest of the line is another text


def listed_names(names: list[str]) -> str:
    """Return the first names of a list, masked."""
    shown_names = [mask_text(name)[:MAX_NAME_CHARS] for name in names[:MAX_NAMES] if name]
    return ", ".join(shown_names) + (" …" if len(names) > MAX_NAMES else "")
