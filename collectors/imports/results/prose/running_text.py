"""Tells running text from logs and code, and parts it into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.imports.results.prose.listed_names import with_unit_of_last
from collectors.imports.results.prose.number_text import with_joined_thousands, with_shared_unit
from collectors.imports.results.prose.units import pattern_of

MAX_LINE_CHARS = 2000
_BAR = re.compile(r"\|")
_SENTENCE_END = re.compile(
    r"(?<=[.!?。])\s+(?=[^\da-z])"
    # '... 600 tok/s. is there anything wrong?'
    r"|(?<=[a-z\d)][.!])\s+(?=(?:is|are|does|do|did|can|could|why|what|how|any|should)\b[^.?!]{1,160}\?)"
)
_LOG_LINE = re.compile(
    r"\d\d:\d\d:\d\d|^\W{0,3}(?:INFO|DEBUG|WARN|ERROR|TRACE)\b|^\s*(?:not )?ok \d{1,6} - "
    r"|^\s*(?:ggml_\w{1,40}|Device \d{1,3}):"
)
_CODE = re.compile(
    r"^\s*--\w|[{}]|<[a-z/]|(?<![-=\s])>(?!\s|=?\d[\d.,]{0,12} ?(?:t/s|tok|tps|ms|%))|://|^\s*(?:(?:\$|#!|import|def|if)\s|from\s[\w.]+\simport\s|for\s.{1,60}\sin\s.{1,200}:)"
)
_EACH_SECOND = re.compile(r"每秒(?:约|大概|只有|能)? ?(?P<count>[~≈]?\d[\d.,]{0,12}) ?个? ?tokens?", re.IGNORECASE)
_LINK = re.compile(r"(?<=\])\([^()\s]{1,400}\)|<?https?://[^\s<>)]{1,400}>?")
_FLAG = re.compile(r"\s--\w")
_PUNCTUATION = re.compile(r"[a-z)][.,] [A-Za-z]")  # of a sentence: no command has it
_QUOTED = re.compile(r"(?<!`)`[^`]{1,200}`(?!`)")  # code within a sentence: 'with `--spec-type mtp`'
_TIGHT_SLASH = re.compile(
    rf"(\d)/(?=\d[\d.,]{{0,12}}(?:/\d[\d.,]{{0,12}}){{0,5}} ?(?:{pattern_of('tok/s', 'ms')})(?!\w))"
    r"|(?<=\.)(\d{1,4})/(?=\d[\d.,]{0,12}(?:/\d[\d.,]{0,12}){0,5} ?s(?!\w))",  # no half a second
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[`*]{1,3}")


def running_text(line: str) -> str:
    """Return a line without marks, compared numbers apart: '350 / 370 tok/s'; empty for a log's, a program's."""
    if len(line) > MAX_LINE_CHARS:
        return ""
    line = _EACH_SECOND.sub(r" \g<count> token/s", line) if "每秒" in line else line
    line = _LINK.sub("", line) if "](" in line or "://" in line else line
    unquoted = _QUOTED.sub("", line)
    is_command = len(_FLAG.findall(unquoted)) > 1 and not _PUNCTUATION.search(unquoted)
    is_other = is_command or _LOG_LINE.search(line) or _CODE.search(unquoted)
    if is_other:
        return ""
    line = _TIGHT_SLASH.sub(r"\1\2 / ", with_joined_thousands(_MARKUP.sub("", line)))
    return with_unit_of_last(with_shared_unit(line))


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, and where they begin.

    A line framed by bars that is in no table has a sentence in each cell; one with other bars states nothing.
    """
    is_framed = text.lstrip()[:1] == "|"
    if text.count("|") < 2 or is_framed:
        for cell_start, cell in _pieces(_BAR, text) if is_framed else [(0, text)]:
            yield from ((cell_start + start, sentence) for start, sentence in _pieces(_SENTENCE_END, cell))


def _pieces(separator: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield what stands between the separators of a text, and where it begins."""
    start = 0
    for match in separator.finditer(text):
        yield start, text[start : match.start()]
        start = match.end()
    yield start, text[start:]
