"""Finds the numbers of a sentence that are compared or listed: '45 → 60 tok/s', '28 and 80 tok/s respectively'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from collectors.imports.results.prose.changes import arms_of_change
from collectors.imports.results.prose.listed_names import listed_names, names_behind
from collectors.imports.results.prose.metric_names import metric_of
from collectors.imports.results.prose.number_text import MEMORY, NUMBER, StatedNumber, parse_number
from collectors.imports.results.prose.units import pattern_of, unit_of

MOST_LISTED = 8
LONGEST_ACCEPTANCE = 10  # tokens
MAX_CHARS_TO_UNIT = 400  # before a number
SENTENCE_NUMBER = re.compile(rf"(?<![\w.,/=$#-])(?:{NUMBER})", re.IGNORECASE | re.ASCII)  # '得到25t/s的速度'
_COMPARED = re.compile(
    r"\s*(?:\([^()]{1,40}\)\s*)?(?:→|-{1,2}>|=>|⇒|➜|vs\.?|versus|against|/|\||to|of)\s*", re.IGNORECASE
)
_VERSUS = re.compile(r"\s*(?:vs\.?|versus|against|compared (?:to|with))\s*", re.IGNORECASE)
_COMPARED_WITH = re.compile(  # '45 tok/s against mlx-lm's 44', '140 tok/s vs llama.cpp (old) ~202'
    r"\s*(?:vs\.?|versus|against|compared (?:to|with)) (?P<words>[^\d,;.()]{1,40}(?:\.[a-z]{2,3}\b[^\d,;.()]{0,20})?"
    r"(?:\([^()]{1,40}\) ?)?)",
    re.IGNORECASE,
)
_DEPTH = re.compile(
    r"@ ?(?:(?:depth|ctx|context|d) ?)?\d[\d.]{0,8}[kKM]?(?![\w.])(?! ?(?:tok|t/s|tps))"
)  # '437 tok/s @2k'
_LEVEL = re.compile(r"\s?(?:@|at) ?\d")
_BETWEEN_LEVELS = re.compile(
    r"\s?(?:@|at) ?\d[\d.]{0,8}[kKM]?(?: [a-z]{1,15})? ?(?:to|→|->|vs\.?)\s*"
)  # '@2k falling to'
_ENDS_OF_NAME = ("'s", "\u2019s", ")")  # no version: 'vs vLLM 0.10'
_BRACKETED_LIST = re.compile(
    r"\((?:[~≈]?\d[\d.]{0,12}(?:,|,? and|,? or) ){1,12}[~≈]?\d[\d.]{0,12}"
    rf" ?(?:{pattern_of('tok/s', 'ms', 's')})\)",
    re.IGNORECASE,
)
_BARE_LIST = re.compile(  # 'TTFT of 81.5 90.2 77.1 ms'
    r"(?<![\w.,/-])\d{1,9}\.\d{1,6}(?: {1,3}\d{1,9}\.\d{1,6}){2,30} ?"
    rf"(?:{pattern_of('tok/s', 'ms', 's')})(?!\w)",
    re.IGNORECASE,
)
_LINE_OF_RUNS = re.compile(  # 'candidate runs: 492.45, 488.19, 494.00 tok/s'
    r":\s{1,20}~?\d{1,9}\.\d{1,6}(?:, {1,3}~?\d{1,9}\.\d{1,6}){1,30} ?"
    rf"(?:{pattern_of('tok/s', 'ms', 's')})(?!\w)",
    re.IGNORECASE,
)
_CARD = re.compile(r"\b(?:RTX|GTX|RX|Arc|Tesla|Radeon|Quadro|EPYC|Xeon|Ryzen|Ultra|PRO)\s*$", re.IGNORECASE)
_RESPECTIVELY = re.compile(r"\brespectively\b", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,|,? and|,? or|/)\s*", re.IGNORECASE)
_OF_TOTAL = re.compile(r"/|\bof\b")  # '30.6 / 32 GB'
_UNIT_BEFORE = re.compile(rf"(?<![\w/])\(?(?P<unit>{pattern_of('tok/s', 'requests/s', 'ms')})\)?:?\s*$", re.IGNORECASE)
_UNIT_OF_LIST = re.compile(  # '(s)' behind other words is their plural
    rf"(?:\((?P<unit>{pattern_of('tok/s')})"
    r"|\b(?:times?|durations?|latenc(?:y|ies)) ?\((?P<unit_of_time>ms|s|sec)(?!\w))\):[^:]*$",
    re.IGNORECASE,
)
_UNIT_OF_SUBJECT = re.compile(  # 'tokens per second fell from 20 to 10'
    rf"(?<![\w/])(?P<unit>{pattern_of('tok/s')})(?!\w)[^\d.;:,()]{{1,60}}\bfrom ~?$", re.IGNORECASE
)
_UNIT_ONCE = re.compile(  # 'BF16 at 933.5 tok/s, FP8 at 747.5 and INT4 at'
    rf"\bat ~?\d{{1,6}}\.\d{{1,3}} ?(?P<unit>{pattern_of('tok/s')})"
    r"(?:(?:[,;]| and) [^.,;]{1,60} at ~?\d{1,6}\.\d{1,3}){0,12}(?:[,;]| and) [^.,;]{1,60} at ~?$",
    re.IGNORECASE,
)
UNITLESS = re.compile(r"accept(?:ance|ed)? (?:len(?:gth)?|rate)\b(?:[^\d]{0,20}|.{1,80}(?:,|\band)\s)$", re.IGNORECASE)


class NumberGroup(NamedTuple):
    """Numbers of a sentence that are compared, and where they stand."""

    values: list[StatedNumber]
    start: int
    end: int
    is_listed: bool = False  # '28 and 80 tok/s respectively', not compared
    is_versus: bool = False  # '45 versus 60 tok/s with a draft': the words behind are those of the last
    names: Sequence[str] = ()  # of listed numbers

    @property
    def ranked_values(self) -> list[tuple[int | None, StatedNumber]]:
        """The values, each with its place if there are several."""
        ranks = range(1, len(self.values) + 1) if len(self.values) > 1 else (None,)
        return list(zip(ranks, self.values, strict=True))


def compared_numbers(sentence: str) -> Iterator[NumberGroup]:
    """Yield the numbers that have a unit, their own or that of the number that they are compared with."""
    without_depths = _DEPTH.sub(lambda match: "@".ljust(len(match[0]), "x"), sentence) if "@" in sentence else sentence
    matches = list(SENTENCE_NUMBER.finditer(without_depths))
    has_list = _RESPECTIVELY.search(sentence) is not None
    lists = [
        match.span() for pattern in (_BRACKETED_LIST, _BARE_LIST, _LINE_OF_RUNS) for match in pattern.finditer(sentence)
    ]
    names: Sequence[str] = ()
    at = 0
    while at < len(matches):
        names = _names_of(sentence, matches, at, names)
        end = at + len(names)
        if names and (group := _group_of(sentence, matches[at:end])):
            yield group._replace(is_listed=True, names=names)
            at = end
            continue
        end = at + 1
        while has_list and end < len(matches) and _are_listed(sentence, matches[end - 1], matches[end]):
            end += 1
        if end > at + 1 and (group := _group_of(sentence, matches[at:end])):
            yield group._replace(is_listed=True)
            at = end
            continue
        end = at + 1
        while end < len(matches) and (
            _are_compared(sentence, *matches[end - 1 : end + 1])
            or any(start <= matches[end - 1].start() and matches[end].end() <= stop for start, stop in lists)
        ):
            end += 1
        if group := _group_of(sentence, matches[at:end]):
            yield group
        at = end


def _names_of(sentence: str, matches: Sequence[re.Match[str]], at: int, names_before: Sequence[str]) -> Sequence[str]:
    """Return the names of as many listed numbers from the one at `at`: before or behind them, or the former's."""
    start, former_end = matches[at].start(), matches[at - 1].end() if at else 0
    words_between = sentence[former_end:start]
    slashed = _listed_from(sentence, matches, at, lambda between: between.strip() == "/")
    listed = _listed_from(sentence, matches, at, lambda between: _AND.fullmatch(between) is not None)
    names = listed_names(words_between) or names_behind(sentence[slashed[-1].end() :])
    if not names and len(listed) == len(names_before) and _goes_on(words_between, matches[at - 1], listed[-1]):
        names = [*names_before]
    numbers = matches[at : at + len(names)]
    are_listed = all(_are_listed(sentence, former, following) for former, following in pairwise(numbers))
    return names if len(numbers) == len(names) and are_listed else []


def _listed_from(
    sentence: str, matches: Sequence[re.Match[str]], at: int, parts: Callable[[str], bool]
) -> list[re.Match[str]]:
    """Return the number at `at` and those behind it that such words part; at most as many as a list has names."""
    pairs = pairwise(matches[at : at + MOST_LISTED])
    listed_pairs = takewhile(lambda pair: parts(sentence[pair[0].end() : pair[1].start()]), pairs)
    return [matches[at], *(following for _, following in listed_pairs)]


def _goes_on(words_between: str, former: re.Match[str], last: re.Match[str]) -> bool:
    """Return whether a list is one more of the former's names: in its unit, behind words that name no other metric."""
    unit = unit_of(last["unit"])[0]
    is_alike = unit is not None and dimension(unit) == dimension(unit_of(former["unit"])[0])
    return is_alike and metric_of(words_between, unit) is None


def _are_compared(sentence: str, former: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether two numbers are compared: '256 tokens → 3.1 s' are of two kinds."""
    if former["unit"] is None and _CARD.search(sentence[: former.start()]):
        return False  # 'RTX 5090 / 32 GB'
    if former["unit"] is None and former["kilo"] and not following["kilo"]:
        return False  # '555 tok/s at 8K vs 553 tok/s'
    if former["unit"] is None and following["unit"] == "%" and parse_number(former).low <= LONGEST_ACCEPTANCE:
        return False  # 'accept 3.5 / 80 %' are a length and a rate
    units = [dimension(unit_of(match["unit"])[0]) for match in (former, following) if match["unit"]]
    between = sentence[former.end() : following.start()]
    if former["unit"] and following["unit"] is None and _BETWEEN_LEVELS.fullmatch(between):
        return _LEVEL.match(sentence, following.end()) is not None
    if former["unit"] and following["unit"] is None and (match := _COMPARED_WITH.fullmatch(between)):
        return match["words"].rstrip().endswith(_ENDS_OF_NAME) or following["about"] is not None
    return len({*units}) < 2 and _COMPARED.fullmatch(between) is not None


def _are_listed(sentence: str, former: re.Match[str], following: re.Match[str]) -> bool:
    """Return whether two numbers of one list follow each other: of '28 and 80 tok/s' only the last has its unit."""
    units = {dimension(unit_of(match["unit"])[0]) for match in (former, following) if match["unit"]}
    return len(units) < 2 and _AND.fullmatch(sentence[former.end() : following.start()]) is not None


def _group_of(sentence: str, matches: Sequence[re.Match[str]]) -> NumberGroup | None:
    """Return numbers that are compared, None without a unit; of '30.6 / 32 GB' only the memory that is in use."""
    before = sentence[: matches[0].start()]
    unit_text = next((match["unit"] for match in reversed(matches) if match["unit"]), None)
    unit, factor = unit_of(unit_text or _unit_at_end(before))
    if unit is None and not UNITLESS.search(before):
        return None
    words = parse_number(matches[-1]).words  # of the unit that they share: 'tok/s/user'
    values = [
        value if value.unit else value._replace(low=value.low * factor, unit=unit, words=words)
        for value in map(parse_number, matches)
    ]
    if len(values) == 1 and values[0].high is not None and arms_of_change(sentence, *matches[0].span()):
        values = [values[0]._replace(high=None), values[0]._replace(low=values[0].high, high=None)]
    is_share = unit in MEMORY and len(matches) == 2 and _OF_TOTAL.search(sentence, matches[0].end(), matches[1].start())
    between = sentence[matches[0].end() : matches[1].start()] if len(matches) == 2 else ""
    is_versus = _VERSUS.fullmatch(between) is not None or _BETWEEN_LEVELS.fullmatch(between) is not None
    values = values[:1] if is_share else values
    return NumberGroup(values, matches[0].start(), matches[-1].end(), is_versus=is_versus)


def _unit_at_end(words: str) -> str | None:
    """Return the unit that stands before a number: 'output tok/s 152.3', 'Speed (T/s): prefill 90, decode 12'."""
    words = words[-MAX_CHARS_TO_UNIT:]
    if match := _UNIT_OF_LIST.search(words):
        return match["unit"] or match["unit_of_time"]
    match = _UNIT_BEFORE.search(words) or _UNIT_ONCE.search(words) or _UNIT_OF_SUBJECT.search(words)
    return match["unit"] if match else None


def dimension(unit: str | None) -> str | None:
    """Return what a unit measures: milliseconds and seconds can be compared."""
    return "time" if unit in ("ms", "s") else unit
