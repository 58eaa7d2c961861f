"""Names the two arms of a change: 'from 35 to 48 tok/s after updating', 'With MTP it fell from 81 ms to 45 ms'."""

from __future__ import annotations

import re

_VERB = (
    r"(?:(?:went|goes|go|gone|going|came|jump(?:s|ed)?|rose|rises?|risen|increas(?:es?|ed)|improv(?:es?|ed)|drop(?:s|ped)?"
    r"|fell|falls?|fallen|climb(?:s|ed)?|gr[eo]w(?:s|n)?|decreas(?:es?|ed)|reduc(?:es?|ed)|slow(?:s|ed)?|chang(?:es?|ed)"
    r"|mov(?:es?|ed)|lift(?:s|ed)?|boost(?:s|ed)?|rais(?:es?|ed)|cuts?|bump(?:s|ed)?|doubl(?:es?|ed)|regress(?:es|ed)?"
    r"|degrad(?:es?|ed)|sp(?:ed|eeds?) up|took|takes?|brought|brings?)\b)"
)
_CHANGED_FROM = re.compile(
    rf"[\s,(]*(?:\b{_VERB}(?: [\w-]{{1,20}}){{0,4}}? )?\bfrom\s*(?:~|about )?\s*$", re.IGNORECASE
)
_HAS_VERB = re.compile(
    rf"\b{_VERB}(?: [\w-]{{1,20}}){{0,4}}? from\W*$|\b{_VERB}[^.;]{{1,80}} and [^.;,\d]{{1,40}} from\W*$", re.IGNORECASE
)
_NO_LOAD = (  # 'with 8 users', 'with a prompt of 4k tokens', 'when the context grows' are conditions of both
    r"(?!~?\d|(?:\S{1,20} ){0,3}(?:prompts?|contexts?|ctx|tokens?|users?|streams?|requests?|concurren\w+|clients?"
    r"|batch\w*|sessions?|depth|load)\b)"
)
_MADE = (
    r"(?:updat|upgrad|downgrad|switch|chang|mov|enabl|disabl|turn|add|remov|fix|patch|appl|instal|set|rebuil|compil|tun"
    r"|optimi[sz]|us)(?:e|es|ing|ting|ching|ling|ying)?\b|\bthe (?:update|upgrade|change|fix|patch|switch|merge)\b"
)
_ARM_BEHIND = re.compile(
    r"[^.;]{0,40}?(?<![\w-])(?P<arm>(?:after|since|once|with|without|by|thanks to|when|using|following)"
    rf" {_NO_LOAD}(?:[^\s.;,()]|[.,](?=\S)){{1,40}}(?: (?:[^\s.;,()]|[.,](?=\S)){{1,40}}){{0,7}})",
    re.IGNORECASE,
)
_ARM_BEFORE = re.compile(
    rf"\W*(?P<arm>(?:after|since|once|with|without|by|thanks to|using|following) {_NO_LOAD}[^,;:]{{2,60}}), ",
    re.IGNORECASE,
)
_MADE_BEHIND = re.compile(rf"(?:after|by|thanks to) (?:\w{{1,12}} )?(?:{_MADE})", re.IGNORECASE)
_VERSION = r"(?:v?\d+(?:\.\d+){2,3}|v\d+\.\d+)(?:[-.]?[a-z]{1,4}\d{0,6})?"
_VERSIONS = re.compile(
    rf"\bfrom (?:[A-Za-z][\w-]{{0,20}} )?(?:version )?(?P<old>{_VERSION}) to (?:[A-Za-z][\w-]{{0,20}} )?(?:version )?"
    rf"(?P<new>{_VERSION})(?![\w/])",
    re.IGNORECASE,
)
_FROM_AT_END = re.compile(r"\bfrom\s*$", re.IGNORECASE)
BEFORE = "before"


def arms_of_change(sentence: str, start: int, end: int) -> tuple[str, str] | None:
    """Return the names of what two numbers are of, which stand from `start` to `end` of a sentence; None without any.

    They are the versions that it changes from and to, or what was before and what comes 'after' or 'with' something.
    """
    words_before = sentence[:start]
    if _FROM_AT_END.search(words_before) is None:
        return None
    if (match := _VERSIONS.search(sentence)) and not (match.start() < end and start < match.end()):
        return match["old"], match["new"]
    behind, before = _ARM_BEHIND.match(sentence, end), _ARM_BEFORE.match(words_before)
    match = behind or before
    if match is None:
        return None
    is_change = _HAS_VERB.search(words_before) is not None or _MADE_BEHIND.match(match["arm"]) is not None
    arm = match["arm"].strip()
    return (BEFORE, f"{arm[:1].lower()}{arm[1:]}") if is_change else None


def without_verb(words: str) -> str:
    """Return the words before two numbers without those that say that the first became the second: 'TTFT fell from'."""
    return _CHANGED_FROM.sub("", words)
