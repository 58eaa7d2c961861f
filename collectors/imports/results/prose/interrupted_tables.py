"""Makes tables of llama.cpp's benchmarks whole, between whose rows messages of the engine or of progress stand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.tables import RULE

MAX_LINE_CHARS = 4_000
MAX_LINES = 4_000  # of one table
MESSAGE = re.compile(
    r"\s{0,8}(?:llama-bench: |"
    r"(?:ggml|llama|load|main|build|system|register|common|print|clip|set|init|sched|graph)[\w: ]|"
    r"warning: |~?llama_|\d{1,3}\.\d\d\.\d{3}\.\d{3} [IWED] |\.{3,200}$|$)"
)
HEAD = re.compile(r"\|[^\n]{0,2000}(?:\bt/s|\bS_TG)")


def with_whole_tables(text: str) -> str:
    """Return a text in which the messages between the rows of such a table stand above it; lines keep their number."""
    if "t/s" not in text:
        return text
    lines = text.splitlines()
    index = 0
    while index < len(lines) - 1:
        if HEAD.match(lines[index][:MAX_LINE_CHARS]) and _is_rule(lines[index + 1]):
            rows = _rows_of(lines, index)
            last = rows[-1] if rows else index + 1
            if last - index - 1 > len(rows):
                table_lines = [index, index + 1, *rows]
                messages = [line for line in range(index, last + 1) if line not in set(table_lines)]
                lines[index : last + 1] = [lines[line] for line in (*messages, *table_lines)]
            index = last
        index += 1
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def _is_rule(line: str) -> bool:
    return len(line) < MAX_LINE_CHARS and "|" in line and RULE.fullmatch(line) is not None


def _rows_of(lines: Sequence[str], head: int) -> list[int]:
    """Return the indexes of a table's rows, up to the first line that is neither a row nor a message."""
    bars, rows = lines[head].count("|"), []
    for index in range(head + 2, min(len(lines), head + MAX_LINES)):
        is_head = index + 1 < len(lines) and _is_rule(lines[index + 1])
        if lines[index].startswith("|") and lines[index].count("|") == bars and not is_head:
            rows.append(index)
        elif not MESSAGE.match(lines[index][:MAX_LINE_CHARS]):
            break
    return rows
