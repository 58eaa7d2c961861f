"""The places of the secrets in a command, each with a name.

A place is named after the flag or variable whose whole value it is ('--api-key', 'HF_TOKEN', '--api-key (2)' for the
second one), or, where it is only a part of a word, after the text around it ('DB=postgres://u:<secret>@host'). The name
is the same before and after masking, and edits elsewhere do not change it.
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
_AROUND = 24  # characters of a word that name a place within it


class Spot(NamedTuple):
    """One secret, or the mask of one: in which word, from where to where, and the name of its place."""

    word: int
    start: int
    end: int
    place: str


class _Token(NamedTuple):
    """A word, or a word of a shell script that is one word of the command."""

    word: int
    offset: int
    text: str


class _Value(NamedTuple):
    """What a token says: whose value it is, where in the token that begins, whether all of it is secret."""

    owner: str  # '--flag ', 'NAME=' or ''
    start: int
    is_secret: bool


def is_script_at(argv: Sequence[str], index: int) -> bool:
    """Whether a word of a command is a script that another shell will read (`bash -c '...'`)."""
    return index > 1 and bool(_SHELL_FLAG.fullmatch(argv[index - 1])) and bool(re.search(r"\s", argv[index]))


def find_spots(argv: Sequence[str], known: Sequence[str] = ()) -> list[Spot]:
    """Every secret of a command, masked or literal; `known` are values that are secret wherever they stand."""
    counted: Counter[str] = Counter()
    spots = []
    for token, value in _valued(list(_tokens(argv))):
        spans = _spans(token.text, value, known)
        for span, around in zip(spans, _texts_around(token.text, value.start, spans), strict=True):
            name = value.owner.rstrip(" =") if value.is_secret else value.owner + around
            counted[name] += 1
            place = name if counted[name] == 1 else f"{name} ({counted[name]})"
            spots.append(Spot(token.word, token.offset + span[0], token.offset + span[1], place))
    return spots


def _tokens(argv: Sequence[str]) -> Iterator[_Token]:
    for index, word in enumerate(argv):
        if not is_script_at(argv, index):
            yield _Token(index, 0, word)
            continue
        for match in _SHELL_WORD.finditer(word):
            quote = match[0][:1] if match[0][:1] in ("'", '"') and match[0][:1] == match[0][-1:] else ""
            yield _Token(index, match.start() + len(quote), match[0].strip(quote) if quote else match[0])


def _valued(tokens: Sequence[_Token]) -> Iterator[tuple[_Token, _Value]]:
    """Each token with what it says; several may stand behind one secret flag, as vLLM's keys do."""
    open_flag = before = ""
    for token in tokens:
        is_flag = token.text.startswith("-")
        value = _value_of(token.text, before, open_flag)
        if is_flag or not (open_flag and value.is_secret) or token.text.strip(";&|") == "":
            open_flag = token.text if is_secret_flag(token.text) else ""
        before = token.text
        yield token, value


def _value_of(text: str, before: str, open_flag: str) -> _Value:
    flag, equals, _ = text.partition("=")
    if equals and is_secret_flag(flag):
        return _Value(f"{flag} ", len(flag) + 1, is_secret=True)
    if assigned := _ASSIGNMENT.fullmatch(text):
        name = assigned["name"]
        return _Value(f"{name}=", assigned.start("value"), is_secret_name(name, assigned["value"]))
    if text.startswith("-"):
        return _Value(f"{flag} ", len(flag) + 1, is_secret=False) if equals else _Value("", 0, is_secret=False)
    if open_flag:
        return _Value(f"{open_flag} ", 0, is_secret=bool(text.strip(";&|")))
    return _Value(f"{before} " if before.startswith("-") and "=" not in before else "", 0, is_secret=False)


def _spans(text: str, value: _Value, known: Sequence[str]) -> list[Span]:
    said = text[value.start :]
    if value.is_secret:
        return [] if said == "" or (said != MASK and is_reference(said)) else [(value.start, len(text))]
    spans = [*secret_spans(text, known), *(match.span() for match in _MASKED.finditer(text))]
    return [(max(first, value.start), last) for first, last in merge_spans(spans) if last > value.start]


def _texts_around(text: str, start: int, spans: Sequence[Span]) -> Iterator[str]:
    """For each part of a text the text around it, with every part masked."""
    masked, shift = text, 0
    for first, last in reversed(spans):
        masked = masked[:first] + MASK + masked[last:]
    for first, last in spans:
        at = first + shift
        yield masked[max(start, at - _AROUND) : at + len(MASK) + _AROUND]
        shift += len(MASK) - (last - first)


def replaced(argv: Sequence[str], replacements: Iterable[tuple[int, int, int, str]]) -> list[str]:
    """The words with parts replaced; the last ones first, so that the positions of the others stay true."""
    words = list(argv)
    for index, start, end, text in sorted(replacements, reverse=True):
        words[index] = words[index][:start] + text + words[index][end:]
    return words
