"""Makes tables whole between whose rows blank lines stand, or messages of llama.cpp's benchmarks."""

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
BLANK = re.compile(r"\s{0,200}$")
NUMBER_CELL = re.compile(r"\|\s{0,40}[~≈]?\d[\d.,]{0,20}\s{0,40}(?:\||$)")
HEAD = re.compile(r"\|[^\n]{0,2000}(?:\bt/s|\bS_TG)")


def with_whole_tables(text: str) -> str:
    """Return a text in which what stands between the rows of a table stands above it; lines keep their number."""
    lines = text.splitlines()
    index = 0
    while index < len(lines) - 1:
        rule = _rule_below(lines, index)
        if rule is not None:
            is_of_benchmark = HEAD.match(lines[index][:MAX_LINE_CHARS]) is not None
            rows = _rows_of(lines, index, rule, MESSAGE if is_of_benchmark else BLANK)
            table_lines = [index, rule, *rows]
            last = table_lines[-1]
            if last - index + 1 > len(table_lines):
                lines_between = sorted({*range(index, last + 1)} - {*table_lines})
                lines[index : last + 1] = [lines[line] for line in (*lines_between, *table_lines)]
            index = last
        index += 1
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def _rule_below(lines: Sequence[str], head: int) -> int | None:
    """Return the index of the rule below heads, at once or below a blank line; None for any other line."""
    if "|" not in lines[head]:
        return None
    if head + 1 < len(lines) and _is_rule(lines[head + 1]):
        return head + 1
    is_parted = head + 2 < len(lines) and not lines[head + 1].strip() and _is_rule(lines[head + 2])
    has_as_many = is_parted and lines[head].count("|") == lines[head + 2].count("|")
    is_head = has_as_many and not _is_rule(lines[head]) and not NUMBER_CELL.search(lines[head][:MAX_LINE_CHARS])
    return head + 2 if is_head else None


def _is_rule(line: str) -> bool:
    return len(line) < MAX_LINE_CHARS and "|" in line and RULE.fullmatch(line) is not None


def _rows_of(lines: Sequence[str], head: int, rule: int, between: re.Pattern[str]) -> list[int]:
    """Return the indexes of a table's rows, up to a line that is neither a row nor may stand between rows."""
    bars, rows = lines[head].count("|"), []
    for index in range(rule + 1, min(len(lines), head + MAX_LINES)):
        if lines[index].startswith("|") and lines[index].count("|") == bars and _rule_below(lines, index) is None:
            rows.append(index)
        elif not between.match(lines[index][:MAX_LINE_CHARS]):
            break
        elif between is BLANK and index - (rows[-1] if rows else rule) > 1:
            break  # two blank lines end a table
    return rows
