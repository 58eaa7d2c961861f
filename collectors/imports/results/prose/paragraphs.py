"""Joins the lines of a paragraph that an editor wrapped, so that its sentences are whole."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from collectors.imports.results.prose.consoles import FENCE
from collectors.imports.results.prose.figure_marks import BULLET
from collectors.imports.results.prose.units import may_have_figure

LEAST_WIDTH = 60  # of wrapped text
RAGGED = 0.85  # of the longest line
MAX_CHARS = 2000
_STARTS_ANEW = re.compile(
    r"\s*(?:#{1,6} |[|>]|\*\*|</?[a-z]|[-=─]{3}|[\w(][^:.;]{0,40}:\s|\S{1,60}:\s|.*\S {3,}\S"
    r"|\w[^:;()]{0,40}\([^()]{1,80}\):\s)"  # 'chat (temp 0.6, seed 1): 45 tok/s'
)
_GOES_ON = re.compile(r"\s*(?:[^\W\dA-Z]|[\d(`~≈+±→/—–-])")
_IS_UNFINISHED = re.compile(
    r"(?:[,;(/→—–]|\b(?:an?|the|of|to|at|in|and|or|with|for|on|by|from|vs|is|are|was|were|than|per|only|about))\s*$"
)
_SHOWN_ANSWER = (  # by LM Studio, a line for each
    re.compile(r"\s{0,8}[\d.,]{1,12} tok/s(?:ec)?\s*"),
    re.compile(r"\s{0,8}[\d,]{1,9} tokens\s*"),
    re.compile(r"\s{0,8}[\d.,]{1,9} ?s to first token\s*"),
)


class Paragraph(NamedTuple):
    """Running text, and where each of its lines begins in it."""

    text: str
    first_line: int  # from 1
    starts: tuple[int, ...] = (0,)

    def line_at(self, position: int) -> int:
        """Return the number of the line that a character stands on."""
        return self.first_line + bisect_right(self.starts, position) - 1


def read_paragraphs(lines: Sequence[str]) -> Iterator[Paragraph]:
    """Yield the lines, joined where the first word of the next one had no room; code between fences is not joined."""
    text, starts, first_line, width, is_code = "", [0], 1, 0, False
    for number, line in enumerate([*lines, ""], 1):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        if number == 1 or not lines[number - 2].strip():
            width = _width_of(lines, number - 1)
        is_joined = number > 1 and not (is_code or is_fence) and _continues(lines[number - 2], line, width)
        if is_joined and len(text) + len(line) < MAX_CHARS:
            text = f"{text.rstrip()} "
            starts.append(len(text))
            text += line.strip()
            continue
        if number > 1:
            yield Paragraph(text, first_line, tuple(starts))
        text, starts, first_line = line, [0], number


def with_joined_answers(lines: Sequence[str]) -> list[str]:
    """Return lines with the speed, the tokens and the time to the first one that a chat shows below each other as one.

    Alone a speed has no words that tell whose it is.
    """
    joined_lines, count = [*lines], len(_SHOWN_ANSWER)
    for index in range(len(lines) - count + 1):
        paragraph = lines[index : index + count]
        if all(pattern.fullmatch(line) for pattern, line in zip(_SHOWN_ANSWER, paragraph, strict=True)):
            joined_lines[index : index + count] = [" • ".join(map(str.strip, paragraph)), *[""] * (count - 1)]
    return joined_lines


def _width_of(lines: Sequence[str], index: int) -> int:
    """Return the length of the longest line down to the next empty one, of three or more that of the second longest."""
    lengths = [len(line) for line in takewhile(str.strip, map(lines.__getitem__, range(index, len(lines))))]
    return 0 if not lengths else sorted(lengths)[-2 if len(lengths) > 2 else -1]


def _continues(former: str, line: str, width: int) -> bool:
    """Return whether a line goes on where the former was wrapped."""
    words = line.split(maxsplit=1)
    has_no_room = bool(words) and width >= LEAST_WIDTH and len(former.rstrip()) + 1 + len(words[0]) > RAGGED * width
    is_ended = former.count("|") > 1 or former.rstrip()[-1:] == ":"
    if not has_no_room or is_ended or BULLET.match(line) or _STARTS_ANEW.match(line):
        return False
    return _GOES_ON.match(line) is not None or _IS_UNFINISHED.search(former) is not None or not may_have_figure(former)
