"""The named places of secrets in a command.

A place is named after the flag or variable whose whole value it is ('--api-key', 'HF_TOKEN', '--api-key (2)' for the
second one) or, if it is only part of a word, after the text around it ('DB=postgres://u:<secret>@host'). The name is
the same before and after masking, and edits elsewhere do not change it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from redaction import MASK, Span, is_reference, is_secret_flag, is_secret_name, merge_spans, secret_spans

_ASSIGNMENT = re.compile(r"(?P<flag>--?[\w-]+=|-e)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$", re.DOTALL)
_MASKED = re.compile(re.escape(MASK))
_SHELL_FLAG = re.compile(r"-[a-z]*c")
_SHELL_WORD = re.compile(r"""[;&|]+|(?:'[^']*'|"(?:[^"\\]|\\.)*"|<secret>|[^\s'";&|])+""")
_AROUND = 24  # characters of a word in the name of a place within it


class SecretSpot(NamedTuple):
    """A secret or its mask: index of the word, start, end, and the name of the place."""

    word: int
    start: int
    end: int
    place: str


class _CommandToken(NamedTuple):
    """A word, or a word inside a shell script that is one word of the command."""

    word: int
    offset: int
    text: str


class _TokenValue(NamedTuple):
    """The value in a token: its owner, its start, and whether all of it is secret."""

    owner: str  # '--flag ', 'NAME=' or ''
    start: int
    is_secret: bool


def is_script_at(argv: Sequence[str], index: int) -> bool:
    """Whether a word of a command is a script for another shell (`bash -c '...'`)."""
    return index > 1 and bool(_SHELL_FLAG.fullmatch(argv[index - 1])) and bool(re.search(r"\s", argv[index]))


def find_spots(argv: Sequence[str], known_values: Sequence[str] = ()) -> list[SecretSpot]:
    """Return every secret of a command, masked or literal; `known_values` are secret wherever they occur."""
    counts: Counter[str] = Counter()
    spots = []
    for token, value in _with_values(list(_tokens(argv))):
        spans = _spans(token.text, value, known_values)
        for span, surrounding in zip(spans, _texts_around(token.text, value.start, spans), strict=True):
            name = value.owner.rstrip(" =") if value.is_secret else value.owner + surrounding
            counts[name] += 1
            place = name if counts[name] == 1 else f"{name} ({counts[name]})"
            spots.append(SecretSpot(token.word, token.offset + span[0], token.offset + span[1], place))
    return spots


def _tokens(argv: Sequence[str]) -> Iterator[_CommandToken]:
    for index, word in enumerate(argv):
        if not is_script_at(argv, index):
            yield _CommandToken(index, 0, word)
            continue
        for match in _SHELL_WORD.finditer(word):
            quote = match[0][:1] if match[0][:1] in ("'", '"') and match[0][:1] == match[0][-1:] else ""
            yield _CommandToken(index, match.start() + len(quote), match[0].strip(quote) if quote else match[0])


def _with_values(tokens: Sequence[_CommandToken]) -> Iterator[tuple[_CommandToken, _TokenValue]]:
    """Each token with its value; several tokens may follow one secret flag, as with vLLM's keys."""
    open_flag = previous = ""
    for token in tokens:
        is_flag = token.text.startswith("-")
        value = _value_of(token.text, previous, open_flag)
        if is_flag or not (open_flag and value.is_secret) or token.text.strip(";&|") == "":
            open_flag = token.text if is_secret_flag(token.text) else ""
        previous = token.text
        yield token, value


def _value_of(text: str, previous: str, open_flag: str) -> _TokenValue:
    flag, equals, _ = text.partition("=")
    if equals and is_secret_flag(flag):
        return _TokenValue(f"{flag} ", len(flag) + 1, is_secret=True)
    if assignment := _ASSIGNMENT.fullmatch(text):
        name = assignment["name"]
        return _TokenValue(f"{name}=", assignment.start("value"), is_secret_name(name, assignment["value"]))
    if text.startswith("-"):
        return (
            _TokenValue(f"{flag} ", len(flag) + 1, is_secret=False) if equals else _TokenValue("", 0, is_secret=False)
        )
    if open_flag:
        return _TokenValue(f"{open_flag} ", 0, is_secret=bool(text.strip(";&|")))
    return _TokenValue(f"{previous} " if previous.startswith("-") and "=" not in previous else "", 0, is_secret=False)


def _spans(text: str, value: _TokenValue, known_values: Sequence[str]) -> list[Span]:
    secret_text = text[value.start :]
    if value.is_secret:
        return (
            []
            if secret_text == "" or (secret_text != MASK and is_reference(secret_text))
            else [(value.start, len(text))]
        )
    spans = [*secret_spans(text, known_values), *(match.span() for match in _MASKED.finditer(text))]
    return [(max(first, value.start), last) for first, last in merge_spans(spans) if last > value.start]


def _texts_around(text: str, start: int, spans: Sequence[Span]) -> Iterator[str]:
    """The text around each span, with every span masked."""
    masked, shift = text, 0
    for first, last in reversed(spans):
        masked = masked[:first] + MASK + masked[last:]
    for first, last in spans:
        shifted_start = first + shift
        yield masked[max(start, shifted_start - _AROUND) : shifted_start + len(MASK) + _AROUND]
        shift += len(MASK) - (last - first)


def replace_parts(argv: Sequence[str], replacements: Iterable[tuple[int, int, int, str]]) -> list[str]:
    """Replace parts of words, last ones first so that earlier positions stay valid."""
    words = list(argv)
    for index, start, end, text in sorted(replacements, reverse=True):
        words[index] = words[index][:start] + text + words[index][end:]
    return words
