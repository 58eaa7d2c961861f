"""Reads tables whose cells a copied page glued together: '1 req120 tok/s125 tok/s' below 'ConcurrencyvLLMSGLang'."""

from __future__ import annotations

import re

from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import RATES, pattern_of

MAX_LINE_CHARS = 400
_UNITS = pattern_of(*RATES, "ms", "s", "%", "GB", "GiB", "tokens")
_VALUE = re.compile(
    rf"[~≈]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)? ?(?:{_UNITS})|[~≈]?\d{{1,9}}(?:\.\d{{1,6}})? ?(?:{_UNITS})", re.IGNORECASE
)
_ENGINES = r"vLLM|SGLang|TensorRT-LLM|TRT-LLM|llama\.cpp|Ollama|LMDeploy|LM Studio|TGI|MLX|ExLlama\w*"
_ENGINE = re.compile(rf"({_ENGINES})")
_WORD_BOUND = re.compile(r"(?<=[a-z)\d%])(?=[A-Z])|(?<=[a-z)])(?=tok/s)")
_LEAST_VALUES, _LEAST_ROWS = 2, 2


def read_glued_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables whose rows are glued, and the text with their lines left empty.

    A row is words and then values with units and nothing between them; the line above the rows is their head.
    """
    lines, tables = text.splitlines(), []
    index = 0
    while index < len(lines):
        rows: list[list[str]] = []
        while index + len(rows) < len(lines) and (row := _cells(lines[index + len(rows)])):
            if rows and len(row) != len(rows[0]):
                break
            rows.append(row)
        if len(rows) >= _LEAST_ROWS and index:
            # The rows of other tables stand two lines below their heads.
            tables.append(Table(index - 1, _heads(lines[index - 1], len(rows[0])), rows))
            lines[index - 1 : index + len(rows)] = [""] * (len(rows) + 1)
        index += max(1, len(rows))
    return tables, "\n".join(lines)


def _cells(line: str) -> list[str]:
    """Return the words of a row and its values; empty for a line that is no glued row."""
    if len(line) > MAX_LINE_CHARS or "|" in line or "\t" in line:
        return []
    values: list[str] = []
    end = len(line.rstrip())
    for match in reversed(list(_VALUE.finditer(line))):
        if match.end() != end:
            break
        values.insert(0, match[0])
        end = match.start()
    label = line[:end]
    is_row = len(values) >= _LEAST_VALUES and label.strip() and not label[-1].isdigit() and not label[-1].isspace()
    return [", ".join(_parts(label, _ENGINE)), *values] if is_row else []


def _heads(line: str, width: int) -> list[str]:
    """Return the heads of a glued line; of a row's several columns of words only the first is kept."""
    named_parts = _parts(line, _ENGINE)
    parts = [
        word for part in named_parts
        for word in ([part] if _ENGINE.fullmatch(part) else _parts(part, _WORD_BOUND))
    ]  # fmt: skip
    if len(parts) < width:
        return [line.strip(), *(f"column {column} of {width - 1}" for column in range(1, width))]
    return [parts[0], *parts[1 - width :]]


def _parts(text: str, bound: re.Pattern[str]) -> list[str]:
    return [part.strip() for part in bound.split(text.strip()) if part.strip()]
