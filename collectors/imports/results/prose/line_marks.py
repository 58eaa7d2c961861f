"""Takes off what stands before every line of a passage: a comment's mark, a diff's, a logger's, a container's name."""

from __future__ import annotations

import re
from itertools import groupby

from collectors.imports.results.prose.consoles import FENCE

MARK = re.compile(
    r"(?P<kind>#|//|;)(?: |$)"
    r"|(?P<quote>>) ?(?![=\d])"
    r"|(?P<container>[\w.-]{1,60}-\d{1,3} {1,20}\| ?)(?!-)"  # as `docker compose logs` prints
    r"|(?P<pod>\[pod/[^\]\s]{1,200}\] )"  # as `kubectl logs --prefix` prints
    r"|(?P<process>\((?:\w{1,30} )?pid=\d{1,9}\) |\[rank\d{1,4}\]: ?)"  # as vLLM and torchrun print
    r"|(?P<added>\+)(?![-=+\d])"  # of a diff; '+---+' is a frame
    r"|(?P<date>\d{4}-\d\d-\d\d)[ T]\d\d:\d\d:\d\d[.,]?\d{0,6} - (?:[\w.]{1,60} - )?(?:DEBUG|INFO|WARNING|ERROR) - ?"
    r"|(?P<stamp>\[20\d\d-\d\d-\d\d\|\d\d:\d\d:\d\d[.,]?\d{0,6}\]) {1,2}(?:DEBUG|INFO|WARNING|ERROR) {1,8}(?=\S)"
    r"|(?P<plain>20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d{0,9}Z? {1,3}"
    r"\[?(?:DEBUG|INFO|WARNING|ERROR)\]?:? {1,8}(?=\S))"
    r"|(?P<actions>20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z(?: |$))"  # as GitHub Actions and kubectl print
    r"|(?P<logger>(?:DEBUG|INFO|WARNING|ERROR):[\w.]{1,60}: ?)"  # as Python prints without a format
)
QUOTE = ">"
DIFF_FENCE = re.compile(r"\s{0,12}`{3,8}diff\s*")
REMOVED, OF_DIFF = ("-", "@@"), ("+", " ")
WIDE_MARKS = str.maketrans("：（），；％\u00a0\u2009\u202f", ":(),;%   ")  # of Chinese texts, and blanks of pages
ESCAPE = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]")  # of a terminal's colours
SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
LINE_BREAK = re.compile(r" ?<br ?/?>$", re.IGNORECASE)
PAIR_IN_BARS = re.compile(r"\s{0,12}\|?[^|]{1,110}?: *[^|\s][^|]{0,60}\|\s*|\s{0,12}\|[^|]{1,110}?: *[^|\s][^|]{0,60}")
CELL_IN_BARS = re.compile(r"\s{0,12}\|[^|]{1,200}\|?\s*|[^|]{1,200}\|\s*")  # the only one of its row
MIN_LINES = 4  # a single line that begins so is a heading, a prompt or a cell
DATED = "date"  # of a logger's line, which is nothing else
STAMPS = (DATED, "stamp", "plain", "actions")
MIN_LINES_OF = {QUOTE: 2, DATED: 1}
MOST_QUOTES = 3  # within each other


def without_line_marks(text: str) -> str:
    """Return a text without the marks of passages in which every line has the same, and with marks of narrow width."""
    lines = [LINE_BREAK.sub("", ESCAPE.sub("", line) if "\x1b" in line else line) for line in text.splitlines()]
    lines = _without_bars(_without_diffs(lines))
    for _ in range(MOST_QUOTES):
        unmarked_lines = _without_marks(lines)
        if unmarked_lines == lines:
            break
        lines = unmarked_lines
    return SPACED_THOUSANDS.sub("", "\n".join(lines)).translate(WIDE_MARKS)


def _without_diffs(lines: list[str]) -> list[str]:
    """Return lines with the new text of each fenced diff; empty lines at its end stand for those it takes away."""
    new_lines: list[str] = []
    removed: int | None = None  # lines of the diff so far; None outside
    for line in lines:
        if removed is None or line.lstrip()[:3] == FENCE:
            new_lines += [*[""] * (removed or 0), line]
            removed = 0 if removed is None and DIFF_FENCE.fullmatch(line[:40]) else None
        elif line.startswith(REMOVED):
            removed += 1
        else:
            new_lines.append(line[1:] if line.startswith(OF_DIFF) else line)
    return [*new_lines, *[""] * (removed or 0)]


def _without_bars(lines: list[str]) -> list[str]:
    """Return lines without the bars around them where they are rows of one cell, most of them a name and its value."""
    unbarred_lines: list[str] = []
    for is_cell, passage in groupby(lines, lambda line: len(line) < 300 and CELL_IN_BARS.fullmatch(line) is not None):
        cells = list(passage)
        pairs = sum(PAIR_IN_BARS.fullmatch(line) is not None for line in cells) if is_cell else 0
        is_list = pairs >= MIN_LINES and 2 * pairs >= len(cells)
        unbarred_lines += [line.strip().strip("|").strip() for line in cells] if is_list else cells
    return unbarred_lines


def _without_marks(lines: list[str]) -> list[str]:
    unmarked_lines: list[str] = []
    for mark, passage in groupby(lines, _mark):
        marked_lines = list(passage)
        if mark and len(marked_lines) >= MIN_LINES_OF.get(mark, MIN_LINES):
            marked_lines = [line[match.end() :] if (match := MARK.match(line)) else line for line in marked_lines]
        unmarked_lines += marked_lines
    return unmarked_lines


def _mark(line: str) -> str | None:
    match = MARK.match(line)
    if match and match.lastgroup in STAMPS:
        return DATED
    return next(filter(None, match.groups()), None) if match else None
