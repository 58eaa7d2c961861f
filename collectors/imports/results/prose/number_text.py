"""Parses numbers as people write them: '~93.8 tok/s', '90-100 tok/s', 'Up to 4.98', '876K tok', '593.84 ± 95.22'."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isclose
from typing import NamedTuple

from collectors.imports.results.prose.units import DIVIDED_RATE, NOT_PER, pattern_of, test_unit, unit_in, unit_of
from collectors.imports.results.values import converted

_DECIMAL_COMMA = r"\d{1,4},(?:\d{1,2}|\d{4,6})(?= ?(?:t(?:ok\w{0,4})?/s|ms|s\b|sec|Gi?B|%))"
_N = rf"\d{{1,3}}(?:,\d{{3}})+(?:\.\d{{1,9}})?|{_DECIMAL_COMMA}|\d{{1,15}}(?:\.\d{{1,20}})?"
_UNIT = pattern_of()
ABOUT = r"(?P<about>~|≈|about|around|roughly|approx(?:\.|imately)?|ca\.|circa|nearly|almost|some|大约|大概|约)?"
_MOST = r"(?P<most>up to|max(?:imum)?|<=?|≤|under|below|less than|不到|不足|低于|少于)?"
_LEAST = r"(?P<least>>=?|≥|over|above|at least|more than|超过|高于|多于)?"
NUMBER = (
    rf"{_MOST}{_LEAST} ?{ABOUT} ?(?P<low>{_N})(?P<kilo>K)?(?P<plus>\+(?! ?[/\d]))?"
    r" ?(?:(?:(?:-|–|—|to) ?~?|(?<=\d)[~〜～](?=\d)|(?<= )[~〜～] (?=\d))"
    rf"(?P<high>{_N})(?P<high_kilo>K)?(?:\+(?= ?t(?:ok\w{{0,4}}|ps)?))?|(?:±|\+/-|\+-) ?(?P<spread>{_N}))?"
    rf" ?(?P<unit>{_UNIT})?(?: ?(?:±|\+/-) ?(?P<late_spread>{_N}))?(?![\w/×%=])(?!\.?\d){NOT_PER}"
)
_FREE_WORDS = r"[^\d|<>():=]{1,60}"
CELL = re.compile(
    rf"`?(?:{NUMBER})`?(?: class)?(?P<rest> aggregate| ?@ ?[\w.=]{{1,12}}|,? equivalent to .{{1,40}}| ?\(.{{1,80}}\))?"
    rf"(?P<words>,? {_FREE_WORDS})?",
    re.IGNORECASE,
)
_MEMORY_WORDS = re.compile(r",? (?:used|peak|total|v?ram|allocated|resident|in use|\+ .{1,60})", re.IGNORECASE)
_COMPARED = re.compile(r"\bvs\b|versus|compared|\bthan\b|baseline|\bfrom\b|\bwas\b|instead", re.IGNORECASE)
WITH_STATISTIC = re.compile(
    rf"(?:{NUMBER}) (?P<statistic>avg|mean|median|min|max|p\d{{2}}(?:\.\d)?)"
    rf"(?: \((?P<smallest>{_N}) ?(?:-|–|to) ?(?P<greatest>{_N})\)| ?\(.{{1,80}}\))?",
    re.IGNORECASE,
)
BEHIND_STATISTIC = re.compile(  # 'p50 120', 'p99=320 ms'
    rf"(?P<statistic>avg|mean|median|min|max|p\d{{2}}(?:\.\d)?)(?: ?[:=] ?| )(?:{NUMBER})", re.IGNORECASE
)
WITH_LABEL = re.compile(
    rf"(?:(?P<label>[A-Za-z][\w -]{{0,30}}(?:\([\w/]{{1,12}}\))?)(?: |: ?))?\*{{0,2}}(?:{NUMBER})\*{{0,2}}"
    r"(?: ?@ ?(?P<level>[\w.-]{1,20}))?(?: (?:v?ram|used|peak|(?P<test>(?:pp|tg)\d{1,6})))?"
    r"(?: \([+-][\d.]{1,9}%\))?",  # a difference from another cell
    re.IGNORECASE,
)
PARTS = re.compile(r"[,;] (?=\D|\d[^,;]*[a-z])| ?<br ?/?> ?", re.IGNORECASE)
TAG = re.compile(r"</?(?:span|b|i|em|strong|font|sub|small|code)\b[^<>]{0,200}>", re.IGNORECASE)
_NOTE_MARK = re.compile(
    r"(?<!10)<sup\b[^<>]{0,200}>\s{0,4}(?:<a\b[^<>]{0,300}>)?[\d,*†‡§a-z]{1,5}(?:</a>)?\s{0,4}</sup>", re.IGNORECASE
)
_DECIMAL = re.compile(r"^([~≈]?\d{1,4}),(\d{1,2})$")  # no thousands
_SPACED_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}) (\d{3})(?: (\d{3}))?(?! ?\d)")  # '5 464 ms'
_NAMED_FIGURE = re.compile(rf"(?:[-*•] )?[^:=|]{{1,80}}[:=] {{0,9}}(?:{NUMBER})[.;]?", re.IGNORECASE)
_SYMBOLS = r"\u26a1\u2b50\U0001f300-\U0001faff\ufe0f"
_DECORATION = re.compile(  # '\u26a1 45 tok/s \u2b50', '16.4\u00b9'
    rf"^[{_SYMBOLS}]{{1,4}} | [\u2190-\u2bff{_SYMBOLS}]{{1,6}}$"
    r"|(?<=\.\d)[\u00b9\u00b2\u00b3\u2070-\u2079]{1,2}(?= |$)|(?<=\d) ?[†‡§¶]{1,3}(?= |$)"
)
_SPACED_IN_WORDS = re.compile(  # '~9 700 ms', '23 000 ms', but no '8 350 ms' behind 'at'
    r"(?P<before>[~≈]|(?<![\w.,]))(?P<first>\d{1,3})[ \u00a0](?P<rest>\d{3})(?= ?(?:ms|tok\w{0,4}/s|t/s)\b)"
)
_REMARK = re.compile(r"(?<=[^\s]) {1,4}(?:\u2190|<-{1,2}) .{1,120}")  # '45.5 <- the old one'
_EXPONENT = re.compile(r"<sup\b[^<>]{0,200}>(?=\s{0,4}\d)", re.IGNORECASE)
_BETWEEN_STATISTICS = re.compile(r", | / | ?<br ?/?> ?")
STATISTICS = {"avg": "mean", "p50": "median"}
_NO_VALUE = re.compile(r"\s*|[-–—]{1,3}|n/?a|nan|none|null|\.\.\.", re.IGNORECASE)
_FAILED = re.compile(r"(?:FAIL(?:ED)?|OOM|ERROR|TIMEOUT|CRASH(?:ED)?|DNF)\b.{0,60}", re.IGNORECASE)
# '5320.5 prefill tok/s' is '5320.5 tok/s prefill'.
_NAMED_UNIT = re.compile(
    r"(\dk?) ((?:(?:effective|eff\.?|aggregate|total|mean|avg|average|median|peak|single-stream)? ?)"
    r"(?:prefill|prompt|input|decode|decoding|output|generated|generation|gen|completion|new|pp|tg)?)"
    rf" ({pattern_of('tok/s')})(?![\w/])",
    re.IGNORECASE,
)
_SIDE = r"(?:prefill|prompt|pp|input|decod(?:e|ing)|generation|gen|tg|output)"
_SHARED_UNIT = re.compile(  # '900 tok/s prefill / 45 decode'
    rf"(?P<first>\d ?(?P<unit>{pattern_of('tok/s')}) {_SIDE}(?: ?[/,] ?| and )~?\d[\d.]{{0,9}}(?:,\d{{3}})?)"
    rf" (?={_SIDE}\b)",
    re.IGNORECASE,
)
_LENGTH = re.compile(r"(?:mean |avg\.? )?acc(?:ept(?:ance|ed)?)?[-. ]len(?:gth)?", re.IGNORECASE)  # of drafts: no unit
_UNIT_OF_SECOND = re.compile(  # '900 pp / 45 tok/s tg'
    rf"(?P<number>\d[\d.,]{{0,12}}) (?P<side>{_SIDE})"
    rf"(?P<rest>(?: ?[/,] ?| and )~?\d[\d.,]{{0,12}} (?P<unit>{pattern_of('tok/s')}) {_SIDE})\b",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"(?P<value>[^()]{1,40}?) {0,2}\((?P<inner>[^()]{2,40})\)")
_ABOUT_MARK = re.compile(  # 'at +-80 tok/s'; behind a number, in a cell alone and of an error it is a deviation
    r"(?P<before>[:=]|(?<!\w)(?:at|is|was|are|were|gets?|got|reach(?:es|ed)?|gives?|gave))(?P<blanks> {1,20})"
    r"(?:±|\+/?-) ?(?=\d)",
    re.IGNORECASE,
)
_DEVIATION_BEFORE = re.compile(
    r"(?:\b(?:std\w*|sd|sem|ci|err\w*|dev\w*|variance|variation|spread|noise|margin|jitter|toleranc\w+|uncertainty)|σ)"
    r"[^\w\n]{0,3}(?:\w{1,20} )?$",
    re.IGNORECASE,
)
_KINDS = {"tok/s": "tokens", "requests/s": "requests", "ms": "time", "s": "time"}
MAX_CELL_CHARS = 300
MAX_CHARS_BEFORE = 40
KILO = 1e3
MOST_DIFFERENCE = 0.02  # between a speed and the inverse of a rounded time
MEMORY = ("GiB", "MiB", "GB", "MB", "TB")
TIMED = ("tok/s", "requests/s", "ms", "s")


class StatedNumber(NamedTuple):
    """A number or a range; `unit` is Pitwall's, None if none is written."""

    low: float
    high: float | None
    spread: float | None
    unit: str | None
    bound: str | None  # 'max' of 'up to 50', 'min' of '50+'
    is_approximate: bool
    words: str = ""  # that follow in its cell: '(pp512)', 'aggregate'


def has_no_value(cell: str) -> bool:
    """Return whether a cell says that it has no value, or says nothing."""
    return _NO_VALUE.fullmatch(cell) is not None


def states_failure(cell: str) -> bool:
    """Return whether a cell says that its measurement failed: 'OOM', '**FAIL** (timeout)'."""
    return _FAILED.fullmatch(cell.strip("*` ")) is not None


def without_note_marks(text: str) -> str:
    """Return a text without the raised marks of footnotes, which are no digits of a number, and '10^3' for a power."""
    return _EXPONENT.sub("^", _NOTE_MARK.sub("", text)) if "<" in text else text


def with_joined_thousands(text: str) -> str:
    """Return a text without blanks between thousands, where a mark or zeros say so: '~9 700 ms', '23 000 ms'."""

    def joined(match: re.Match[str]) -> str:
        is_one = match["before"] != "" or match["rest"] == "000"
        return f"{match['before']}{match['first']}{match['rest']}" if is_one else match[0]

    return _SPACED_IN_WORDS.sub(joined, text)


def with_marks_of_about(text: str) -> str:
    """Return a text with '~' for the '+-' before a number that is no deviation of another: 'it runs at +- 80 tok/s'."""

    def marked(match: re.Match[str]) -> str:
        words_before = text[max(0, match.start() - MAX_CHARS_BEFORE) : match.start()]
        is_deviation = _DEVIATION_BEFORE.search(words_before) is not None
        return match[0] if is_deviation else f"{match['before']}{match['blanks']}~"

    return _ABOUT_MARK.sub(marked, text) if "±" in text or "+-" in text or "+/-" in text else text


def with_unit_first(text: str) -> str:
    """Return a text with every number before its unit: '45 prefill tok/s' is '45 tok/s prefill'."""
    return _NAMED_UNIT.sub(r"\1 \3 \2", text)


def with_shared_unit(text: str) -> str:
    """Return a text with the unit of a speed behind the one beside it: '900 tok/s prefill / 45 tok/s decode'."""
    text = _UNIT_OF_SECOND.sub(r"\g<number> \g<unit> \g<side>\g<rest>", with_unit_first(text))
    return _SHARED_UNIT.sub(r"\g<first> \g<unit> ", text)


@lru_cache(maxsize=1024)  # a cell is asked for once for each other cell of its row
def read_cell(cell: str) -> StatedNumber | None:
    """Parse a cell; None if it is text or more than one number with its unit."""
    plain_cell = _REMARK.sub("", without_note_marks(cell)).replace("**", "").strip().strip("*")  # of '**90.2** tok/s'
    plain_cell = plain_cell.replace(" *(", " (")  # '**870 ms** *(1.8x faster)*'
    plain_cell = _SPACED_THOUSANDS.sub(r"\1\2\3", _DECORATION.sub("", plain_cell))
    plain_cell = _DECIMAL.sub(r"\1.\2", plain_cell.strip("*"))
    match = CELL.fullmatch(with_unit_first(plain_cell))
    if match is None:
        return None
    value = parse_number(match)
    is_memory = value.unit in MEMORY
    words_match = _MEMORY_WORDS.fullmatch(match["words"] or " used") if is_memory else match["words"] is None
    if not words_match and (is_memory or value.unit not in TIMED):
        return None  # '4 threads', '24 GB card'
    words = f"{match['rest'] or ''}{match['words'] or ''}"
    return value._replace(words=value.words + ("" if _COMPARED.search(words) else words))


@lru_cache(maxsize=1024)  # a cell is asked for once for each other cell of its row
def read_statistics(cell: str) -> list[tuple[str, StatedNumber]]:
    """Parse a cell that names its statistics: '78ms p50, 150ms p95', '43.1 tok/s avg (40.7 – 45.1)'; else nothing."""
    parts = _BETWEEN_STATISTICS.split(cell[:MAX_CELL_CHARS].strip().strip("*`"))
    behind_names = [BEHIND_STATISTIC.fullmatch(part) for part in parts]
    if all(behind_names) and len(parts) > 1:
        return [(_statistic_named(match["statistic"]), parse_number(match)) for match in behind_names if match]
    matches = [WITH_STATISTIC.fullmatch(part) for part in parts]
    values: list[tuple[str, StatedNumber]] = []
    for match in matches:
        if match is None:
            return []
        value = parse_number(match)
        values.append((_statistic_named(match["statistic"]), value))
        if match["smallest"]:
            values += [
                (edge, value._replace(low=_number(match[group])))
                for edge, group in (("min", "smallest"), ("max", "greatest"))
            ]
    return values


def _statistic_named(name: str) -> str:
    return STATISTICS.get(name.lower(), name.lower())


@lru_cache(maxsize=1024)  # likewise
def read_parts(cell: str) -> list[tuple[str, StatedNumber]]:
    """Parse a cell with several numbers, each with its unit and perhaps its name: '1,642 tok/s, TTFT (ms): 24'."""
    parts = PARTS.split(TAG.sub("", without_note_marks(cell[:MAX_CELL_CHARS])).strip())
    matches = [match for part in parts if (match := WITH_LABEL.fullmatch(part.strip("*` ")))]
    values = [(_name_of_part(match), parse_number(match)) for match in matches]
    values = [(label, value._replace(unit=value.unit or unit_in(label) or test_unit(label))) for label, value in values]
    is_complete = len(values) == len(parts) > 1 and all(value.unit or _LENGTH.fullmatch(name) for name, value in values)
    return values if is_complete else []


def _name_of_part(match: re.Match[str]) -> str:
    """Return what names a part of a cell: its label, its test, or the level behind it ('45 tok/s @ 4K')."""
    return match["label"] or match["test"] or (f"@ {match['level']}" if match["level"] else "")


def with_bracket_as_part(cell: str) -> str:
    """Return a cell with a figure of another kind in brackets as two parts: '62 ms (16.1 tok/s)', not '45 (was 40)'."""
    match = _BRACKETED.fullmatch(cell[:MAX_CELL_CHARS].replace("*", "").strip())
    if match is None or _COMPARED.search(match["inner"]):
        return cell
    parts = f"{match['value']}; {match['inner']}"
    kinds = [_KINDS.get(value.unit or "") for _, value in read_parts(parts)]
    return parts if len(kinds) == 2 and None not in kinds and kinds[0] != kinds[1] else cell


def states_figure(line: str) -> bool:
    """Return whether a line is a name and its figure, so that it is no title of what stands below: 'TTFT: 81 ms'."""
    match = _NAMED_FIGURE.fullmatch(line.strip().replace("**", ""))
    return match is not None and match["unit"] is not None


def is_inverse(speed: StatedNumber, time_per_token: StatedNumber) -> bool:
    """Return whether a time per token in milliseconds is the inverse of a speed in tokens per second."""
    return time_per_token.unit == "ms" and isclose(speed.low * time_per_token.low, 1e3, rel_tol=MOST_DIFFERENCE)


def parse_number(match: re.Match[str]) -> StatedNumber:
    """Convert a match of NUMBER to Pitwall's units."""
    unit, unit_factor = unit_of(match["unit"])
    kilo, high_kilo = (KILO if match[name] else 1.0 for name in ("kilo", "high_kilo"))
    low, high = (None if match[name] is None else _number(match[name]) for name in ("low", "high"))
    spread = match["spread"] or match["late_spread"]
    assert low is not None
    if high is not None and high_kilo != 1.0 and high > low:
        kilo = KILO  # '2-3k'
    return StatedNumber(
        converted(converted(low, kilo), unit_factor),
        None if high is None else converted(converted(high, max(kilo, high_kilo)), unit_factor),
        None if spread is None else converted(converted(_number(spread), kilo), unit_factor),
        unit,
        "max" if match["most"] else "min" if match["least"] or match["plus"] else None,
        match["about"] is not None,
        f" per {divided[1].lower()}" if (divided := DIVIDED_RATE.search(match["unit"] or "")) else "",
    )


def _number(written: str) -> float:
    """Parse '1,234.5' and the decimal comma of '45,6'."""
    head, comma, last = written.rpartition(",")
    is_decimal = bool(comma) and "." not in last and len(last) != 3
    return float(f"{head}.{last}" if is_decimal else written.replace(",", ""))
