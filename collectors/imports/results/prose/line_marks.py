"""Takes off what stands before every line of a passage: a comment's mark, a diff's, a logger's, a container's name."""

from __future__ import annotations

import re
from html import unescape
from itertools import groupby
from textwrap import dedent

from collectors.imports.quoted_logs import is_excerpt
from collectors.imports.results.prose.consoles import FENCE
from collectors.imports.results.prose.figure_marks import FIGURE

_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)"
_PROCESS = r"(?:\((?:\w{1,30} )?pid=\d{1,9}\) )?"
_TIME = r"(?:20\d\d-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?"
_PLACE = r"[\w./<>-]{1,100}:\d{1,6}"  # of the statement that logs
_MODULE = r"(?:__\w{1,40}__|root|main|\w{0,40}bench\w{0,40}|[a-z]\w{0,40}(?:\.\w{1,40}){1,8})"  # 'decode' is none
_RECORD = (  # of vLLM, Python with a time in brackets, Loguru, Rich, glog and TensorRT-LLM
    rf"{_PROCESS}{_LEVEL} {{1,8}}{_TIME} {{1,4}}\[?{_PLACE}\]:? ?"
    rf"|{_PROCESS}\[{_TIME}\] {{1,4}}\[?{_LEVEL}\]?:? {{1,8}}(?:\[?{_PLACE}\]?:? ?)?"
    rf"|{_TIME} {{1,3}}\| {{1,3}}{_LEVEL} {{0,8}}\| {{1,3}}[\w.<>:-]{{1,100}} - ?"
    rf"|(?:\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\]| {{19}}) {_LEVEL} {{1,8}}"
    rf"|[IWEF]\d{{4}} \d\d:\d\d:\d\d\.\d{{1,9}} {{1,8}}\d{{1,9}} {_PLACE}\] ?"
    r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\] \[[A-Z]\] ?"
)
MARK = re.compile(
    r"(?P<kind>#|//|;)(?: |$)"
    r"|(?P<quote>>) ?(?![=\d])"
    r"|(?P<container>[\w.-]{1,60}-\d{1,3} {1,20}\| ?)(?!-{3,99}\s{0,9}\|)"  # as `docker compose logs` prints
    r"|(?P<pod>\[pod/[^\]\s]{1,200}\] )"  # as `kubectl logs --prefix` prints
    r"|(?P<process>\((?:\w{1,30} )?pid=\d{1,9}\) |\[rank\d{1,4}\]: ?)"  # as vLLM and torchrun print
    r"|(?P<added>\+)(?![-=+\d])"  # of a diff; '+---+' is a frame
    rf"|(?P<record>{_RECORD})"
    r"|(?P<date>\d{4}-\d\d-\d\d)[ T]\d\d:\d\d:\d\d[.,]?\d{0,6} - (?:[\w.]{1,60} - )?(?:DEBUG|INFO|WARNING|ERROR) - ?"
    rf"(?:{_MODULE} - )?"
    r"|(?P<stamp>\[20\d\d-\d\d-\d\d\|\d\d:\d\d:\d\d[.,]?\d{0,6}\]) {1,2}(?:DEBUG|INFO|WARNING|ERROR) {1,8}(?=\S)"
    r"|(?P<plain>20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d{0,9}Z? {1,3}"
    r"\[?(?:DEBUG|INFO|WARNING|ERROR)\]?:? {1,8}(?=\S))"
    r"|(?P<actions>20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z(?: |$))"  # as GitHub Actions and kubectl print
    r"|(?P<clock>\[?(?:20\d\d-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?\]?(?: |$))"
    r"|(?P<journal>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,60} [\w./-]{1,60}\[\d{1,9}\]: ?)"
    r"|(?P<logger>(?:DEBUG|INFO|WARNING|ERROR):[\w.]{1,60}: ?)"  # as Python prints without a format
    rf"|(?P<level>(?:DEBUG|INFO) {{1,8}}(?:- ?|{_PLACE}\]?:? ?)|\[(?:DEBUG|INFO)\]:?(?: |$)|INFO:(?: |$))"
)
QUOTE = ">"
DIFF_FENCE = re.compile(r"\s{0,12}`{3,8}diff\s*")
REMOVED, OF_DIFF = ("-", "@@"), ("+", " ")
WIDE_MARKS = str.maketrans("：（），；％\u00a0\u2009\u202f", ":(),;%   ")  # of Chinese texts, and blanks of pages
ESCAPE = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]")  # of a terminal's colours
COLOUR = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m(?![\w\]])|\[\d{1,3}(?:;\d{1,3}){0,4}m")  # that lost its escape
COLOUR_END, MIN_COLOURED_LINES = "[0m", 2
COMMENT_BEGIN, COMMENT_END = "<!--", "-->"
PREFORMATTED_BEGIN, PREFORMATTED_END = re.compile(r"<pre[^<>]{0,80}>"), "</pre>"
CODE_TAG = re.compile(r"</?code[^>]{0,80}>", re.IGNORECASE)
OPENING_FENCE = re.compile(r"(?P<indent>[ \t]{1,12})(?:`{3}|~{3})")
CODE_INDENT = re.compile(r" {4}|\t")
ITEM = re.compile(r"\s{0,12}(?:[-*+•] |\d{1,2}[.)] )")
SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
LINE_BREAK = re.compile(r" ?<br ?/?>$", re.IGNORECASE)
PAIR_IN_BARS = re.compile(r"\s{0,12}\|?[^|]{1,110}?: *[^|\s][^|]{0,60}\|\s*|\s{0,12}\|[^|]{1,110}?: *[^|\s][^|]{0,60}")
CELL_IN_BARS = re.compile(r"\s{0,12}\|[^|]{1,200}\|?\s*|[^|]{1,200}\|\s*")  # the only one of its row
MIN_LINES = 4  # a single line that begins so is a heading, a prompt or a cell
DATED, CLOCKED = "date", "clock"  # of a logger's line, which is nothing else; of a line of anything
RECORD, LEVEL = "record", "level"  # the head of a logger's record; its level without a time
KINDS = {
    "date": DATED, "stamp": DATED, "plain": DATED, "actions": DATED, "clock": CLOCKED, "journal": CLOCKED,
    "record": RECORD, "level": LEVEL,
}  # fmt: skip
MIN_LINES_OF = {QUOTE: 2, DATED: 1, RECORD: 1, LEVEL: 2}
PLACE_BEHIND = re.compile(rf"(?<! ) {{2,200}}{_PLACE}$")  # as Rich prints it
NAMED_NUMBER = re.compile(r"[:=|]\s{0,60}[~≈]?\d")
NAMES, MIN_LINES_OF_NAME = ("container", "pod", "process"), 2  # which nothing else begins with
SERVING = "Benchmark Result ="  # whose reader takes the time from the lines
MOST_QUOTES = 3  # within each other


def without_line_marks(text: str) -> str:
    """Return a text without the marks of passages in which every line has the same, and with marks of narrow width."""
    text = _without_markup(text)
    lines = [LINE_BREAK.sub("", ESCAPE.sub("", line) if "\x1b" in line else line) for line in text.splitlines()]
    if sum(COLOUR_END in line for line in lines) >= MIN_COLOURED_LINES:
        lines = [COLOUR.sub("", line) for line in lines]
    lines = _without_bars(_without_diffs(lines))
    for _ in range(MOST_QUOTES):
        unmarked_lines = _without_marks(lines)
        if unmarked_lines == lines:
            break
        lines = unmarked_lines
    return SPACED_THOUSANDS.sub("", "\n".join(_dedented(lines))).translate(WIDE_MARKS)


def _without_markup(text: str) -> str:
    """Return a text without the comments of its markup, and with its preformatted passages as they are shown."""
    outside, *parts = text.split(COMMENT_BEGIN)
    for part in parts:
        comment, end, words = part.partition(COMMENT_END)
        outside += "\n" * comment.count("\n") + words if end else COMMENT_BEGIN + part
    rendered_text, *parts = PREFORMATTED_BEGIN.split(outside)
    for part in parts:
        passage, end, words = part.partition(PREFORMATTED_END)
        rendered_text += _rendered(passage) + words if end else part
    return rendered_text


def _rendered(passage: str) -> str:
    """Return a preformatted passage, between fences where its tags stand on lines of their own."""
    words = unescape(CODE_TAG.sub("", passage))
    is_alone = words.startswith("\n") and words.endswith("\n") and FENCE not in words
    return f"{FENCE}{words}{FENCE}" if is_alone else words


def _dedented(lines: list[str]) -> list[str]:
    """Return lines without the indentation of fenced passages within items, and of passages that it makes code."""
    dedented_lines: list[str] = []
    indent, is_fenced, is_item = "", False, False
    passage: list[str] = []
    for line in lines:
        is_fence = line.lstrip()[:3] in (FENCE, "~~~")
        if not is_fenced and not is_fence and (passage or not is_item) and _goes_on(passage, dedented_lines, line):
            passage.append(line)
            continue
        dedented_lines += _without_common_indent(passage)
        passage = []
        if is_fence:
            match = None if is_fenced else OPENING_FENCE.match(line)
            indent = match["indent"] if match else indent if is_fenced else ""
            is_fenced = not is_fenced
        elif not is_fenced and line.strip():
            is_item = ITEM.match(line) is not None or (is_item and line[:1].isspace())
        own_indent = len(line) - len(line.lstrip(" \t"))
        dedented_lines.append(line[min(len(indent), own_indent) :] if is_fenced or is_fence else line)
    return dedented_lines + _without_common_indent(passage)


def _goes_on(passage: list[str], lines_above: list[str], line: str) -> bool:
    """Return whether a line belongs to code by its indentation: a passage of it begins below an empty line."""
    if not line.strip():
        return bool(passage)
    return CODE_INDENT.match(line) is not None and (bool(passage) or not lines_above or not lines_above[-1].strip())


def _without_common_indent(passage: list[str]) -> list[str]:
    texts = [line for line in passage if line.strip()]
    if len(texts) < MIN_LINES_OF_NAME or any(map(ITEM.match, texts)):
        return passage
    return dedent("\n".join(passage)).split("\n")


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
        first = MARK.match(marked_lines[0])
        least = MIN_LINES_OF_NAME if first and first.lastgroup in NAMES else MIN_LINES_OF.get(mark or "", MIN_LINES)
        is_kept = mark == CLOCKED and (any(SERVING in line for line in marked_lines) or _is_series(marked_lines))
        if mark and len(marked_lines) >= least and not is_kept:
            bare_lines = [line[match.end() :] if (match := MARK.match(line)) else line for line in marked_lines]
            marked_lines = bare_lines if mark != RECORD else _messages(marked_lines, bare_lines)
        unmarked_lines += marked_lines
    return unmarked_lines


def _messages(records: list[str], messages: list[str]) -> list[str]:
    """Return the messages of a logger's records; an engine's own keep their heads, and few without a figure their time.

    The time above what a tool printed is that of its load.
    """
    messages = [PLACE_BEHIND.sub("", message) for message in messages]
    has_figure = any(FIGURE.search(message) or NAMED_NUMBER.search(message) for message in messages)
    is_kept = (len(records) < MIN_LINES and not has_figure) or is_excerpt("\n".join(records))
    return records if is_kept else messages


def _is_series(stamped_lines: list[str]) -> bool:
    """Return whether most lines are numbers behind a time, which tells them apart, and have no name."""
    texts = [line[match.end() :] for line in stamped_lines if (match := MARK.match(line))]
    return 2 * sum(text[:1].isdigit() and ":" not in text for text in texts) > len(texts)


def _mark(line: str) -> str | None:
    match = MARK.match(line)
    if match and match.lastgroup in KINDS:
        return KINDS[match.lastgroup]
    return next(filter(None, match.groups()), None) if match else None
