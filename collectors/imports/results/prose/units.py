"""Units as people write them: '45 tokens per second', '3.2k tok / s', 'TTFT (msec)', `ttft_p99_ms`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

_SECONDS = ("s", "sec", "secs", "second", "seconds", "сек", "秒", "초")
_CYRILLIC_S = "с"  # alone it is 'with' in a sentence: 'RTX 4090 с 24 ГБ'
_PER = ("/", " per ", "-per-")
_MINUTES = ("min", "minute", "分钟")
SECONDS_OF_A_MINUTE = 60
_TOKENS = ("tok", "toks", "token", "tokens", "token(s)", "t", "токен", "токенов", "токена", "ток")
_REQUESTS = ("req", "reqs", "request", "requests", "query", "queries", "запросов", "请求", "請求")


def _rates(names: tuple[str, ...], unit: str) -> dict[str, tuple[str, float]]:
    spans = ((1.0, (*_SECONDS, _CYRILLIC_S)), (1 / SECONDS_OF_A_MINUTE, _MINUTES))
    return {
        f"{name}{per}{span}": (unit, factor)
        for factor, names_of_span in spans for name, per, span in product(names, _PER, names_of_span)
    }  # fmt: skip


_SHARES = ("user", "u", "req", "request", "stream", "gpu")
UNITS: Mapping[str, tuple[str, float]] = {  # as written, in lower case -> Pitwall's unit and the factor to it
    **{f"{name}/{second}/{share}": ("tok/s", 1.0) for name, second, share in product(_TOKENS, _SECONDS, _SHARES)},
    **{f"tps/{share}": ("tok/s", 1.0) for share in _SHARES},
    **{f"{name}/{share}/{second}": ("tok/s", 1.0) for name, second, share in product(_TOKENS, _SECONDS, _SHARES)},
    **_rates(_TOKENS, "tok/s"), "tps": ("tok/s", 1.0), **_rates(_REQUESTS, "requests/s"), "rps": ("requests/s", 1.0),
    "qps": ("requests/s", 1.0),
    "ms": ("ms", 1.0), "msec": ("ms", 1.0), "msecs": ("ms", 1.0), "millisecond": ("ms", 1.0),
    "milliseconds": ("ms", 1.0), "µs": ("ms", 1e-3), "μs": ("ms", 1e-3), "us": ("ms", 1e-3),
    **{
        f"{second}{per}{token}": (unit, 1.0)
        for unit, seconds in (("ms", ("ms",)), ("s", ("s", "sec")))
        for second, per, token in product(seconds, ("/", " per "), ("tok", "token", "req", "request"))
    },
    "microseconds": ("ms", 1e-3), **dict.fromkeys(("мс", "毫秒", "ミリ秒", "밀리초"), ("ms", 1.0)),
    **dict.fromkeys(_SECONDS, ("s", 1.0)), "min": ("s", 60.0), "mins": ("s", 60.0), "minutes": ("s", 60.0),
    "minute": ("s", 60.0),
    "gib": ("GiB", 1.0), "mib": ("MiB", 1.0), "gb": ("GB", 1.0), "mb": ("MB", 1.0), "tb": ("TB", 1.0),
    "гиб": ("GiB", 1.0), "миб": ("MiB", 1.0), "гб": ("GB", 1.0), "мб": ("MB", 1.0),
    "tok": ("tokens", 1.0), "toks": ("tokens", 1.0), "token": ("tokens", 1.0), "tokens": ("tokens", 1.0),
    "%": ("%", 1.0), "percent": ("%", 1.0), "x": ("1", 1.0), "×": ("1", 1.0),
}  # fmt: skip
DIVIDED_RATE = re.compile(  # 'tok/s/user', 'tokens/req/s', 'ms/token'
    rf"(?:/ ?|s per )({'|'.join(_SHARES)}|tok(?:en)?)(?:/|$)", re.IGNORECASE
)
RATES = ("tok/s", "requests/s")


def pattern_of(*names: str, factor: float | None = None) -> str:
    """Return a pattern of the units with these Pitwall names and this factor, all without any; 'tok / s' is 'tok/s'."""
    spellings = [
        unit for unit, (name, own_factor) in UNITS.items()
        if (not names or name in names) and factor in (None, own_factor)
    ]  # fmt: skip
    return _factored([tuple(" ?/ ?" if letter == "/" else re.escape(letter) for letter in unit) for unit in spellings])


def _factored(words: Sequence[tuple[str, ...]]) -> str:
    """Return a pattern of the longest of these words, given as letters, that tries each common beginning once."""
    endings: dict[str, list[tuple[str, ...]]] = {}
    for word in filter(None, words):
        endings.setdefault(word[0], []).append(word[1:])
    pattern = "|".join(letter + _factored(rests) for letter, rests in endings.items())
    if () in words:
        return f"(?:{pattern})?" if pattern else ""
    return f"(?:{pattern})" if len(endings) > 1 else pattern


def unit_of(written: str | None) -> tuple[str | None, float]:
    """Return Pitwall's unit for a written one, and the factor to it; None for no unit."""
    return UNITS.get(re.sub(r" ?/ ?", "/", written.lower()), (None, 1.0)) if written else (None, 1.0)


_BEHIND_A_NUMBER = re.compile(rf"\d[k\d]?\+? ?(?:{pattern_of()})(?!\w)", re.IGNORECASE | re.ASCII)
_WORDS_OF_UNITS = (
    "tok",
    "t/s",
    "t / s",
    "tps",
    "ms",
    "req",
    "quer",
    "rps",
    "qps",
    "milli",
    "msec",
    "accept",
    "seconds",
)
_SIZES = pattern_of("GiB", "MiB", "GB", "MB", "TB", factor=1.0)
_OTHERS = f"{pattern_of('ms', 's', '%', factor=1.0)}|{_SIZES}"
NOT_PER = r"(?! ?(?:per|/) ?(?:watts?|w|joules?|j|kwh|dollars?|\$|usd|€)(?!\w))"  # an efficiency is no speed
HEADING_UNIT = re.compile(
    rf"(?<![\w/])({pattern_of(*RATES, factor=1.0)})(?!\w){NOT_PER}"
    rf"|(?<=\s)({pattern_of('ms', 's', '%', factor=1.0)}):?$"
    rf"|[,(\[] ?({_OTHERS})(?:[)\]]|, (?:lower|higher)(?: is)? better\b)"
    rf"|(?<=\s)(?<!\d\s)({_SIZES})$"  # 'RTX 6000 Pro 96 GB' names a GPU
    rf"|(?<=\s)(?<!\d\s)({pattern_of('ms', 'GiB', 'MiB', 'GB', 'MB', factor=1.0)})(?=\s)"  # 'memory GB before'
    r"|(?<=\s)(seconds|milliseconds)(?=\s)"
    r"|(?<=p\d\d\s)(ms)(?=\s)"  # 'TTFT p50 ms (old, new)'
    r"|\((tokens|requests|tokens/sec/user|ms/tok(?:en)?)\)"
    r"|^[`*]{0,3}(ms ?/ ?tok(?:en)?|ms per token|tok(?:en)?s? ?/ ?J(?:oule)?)[`*]{0,3}$",
    re.IGNORECASE,
)
_OF_HEADINGS = {"tokens/sec/user": "tok/s", "ms/tok": "ms", "ms/token": "ms", "requests": "requests"}
_TOKENS_PER_JOULE = re.compile(r"tok(?:en)?s? ?/ ?J(?:oule)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z]\w*")  # of a script's variable
_QUANTISATION = re.compile(r"\b(?:UD-)?[IT]?Q\d_\w{1,12}", re.IGNORECASE)  # the 'S' of 'Q4_K_S' are no seconds
_CYRILLIC_SECONDS = re.compile(rf"(?<=, ){_CYRILLIC_S}$|(?<=\(){_CYRILLIC_S}(?=\))")
_UNDERSCORE = re.compile(r"(?<=[A-Za-z\d])_(?=[A-Za-z\d])")
_NAMED_UNITS: tuple[tuple[re.Pattern[str], str, float], ...] = (
    (re.compile(r"\b(?:t|tok|toks|token|tokens)(?: per | ?/ ?| )s(?:ec|econd)?\b|\b(?:tok|t)ps\b"), "tok/s", 1.0),
    (
        re.compile(r"\b(?:req|reqs|request|requests)(?: per | ?/ ?| )s(?:ec|econd)?\b|\brps\b|\bqps\b"),
        "requests/s",
        1.0,
    ),
    (re.compile(r"\b(?:toks?|tokens?)(?: per | ?/ ?| )min(?:ute)?\b|\btpm\b"), "tok/s", 1 / SECONDS_OF_A_MINUTE),
    (
        re.compile(r"\b(?:reqs?|requests?)(?: per | ?/ ?| )min(?:ute)?\b|(?<!\bfan )(?<!\bpump )\brpm\b"),
        "requests/s",
        1 / SECONDS_OF_A_MINUTE,
    ),
    (re.compile(r"\b(?:ms|msecs?|millis|milliseconds)\b"), "ms", 1.0),
    (re.compile(r"\b(?:us|µs|micros|microseconds)\b"), "ms", 1e-3),
    (re.compile(r"\b(?:ns|nanos|nanoseconds)\b"), "ms", 1e-6),
    (re.compile(r"(?<!\bper )(?<!\b[kmgt]b )(?<!/)\b(?:s|sec|secs|seconds)\b"), "s", 1.0),  # no 'jobs per s', 'gb s'
    (re.compile(r"(?<!\bper )\b(?:minutes|mins)\b"), "s", 60.0),
    (re.compile(r"\b(?:pct|percent)\b|%"), "%", 1.0),
    *((re.compile(rf"\b{unit.lower()}\b(?! (?:per )?s(?:ec)?\b|/)"), unit, 1.0) for unit in ("GiB", "GB", "MiB", "MB")),
)


class NamedUnit(NamedTuple):
    """The unit that the words of a variable's name state, the factor to it, and the words without it."""

    unit: str
    factor: float
    words: str


def named_unit(words: str) -> NamedUnit | None:
    """Return the unit in the words of a variable's name: 'ttft p99 ms'; None without any."""
    for pattern, unit, factor in _NAMED_UNITS:
        if match := pattern.search(words):
            return NamedUnit(unit, factor, " ".join(f"{words[: match.start()]} {words[match.end() :]}".split()))
    return None


def in_words(head: str) -> str:
    """Return a heading with the words of a variable's name told apart: 'ttft_p99_ms', 'median_tpot (main) [ms]'."""
    return _UNDERSCORE.sub(" ", head)


_UNIT_OF_LATENCIES = re.compile(
    r"\b(?:latenc(?:y|ies)|times|ttft|tpot|itl)(?: (?:values|figures|numbers))?"
    r"(?: (?:is|are|all|given|reported|in)){1,3}"
    rf" \(?({pattern_of('ms', 's', factor=1.0)})\b",
    re.IGNORECASE,
)
_TEST = re.compile(r"\b(?:pp|tg)\d{2,6}\b", re.IGNORECASE)
_SPEED_OF_TOKENS = re.compile(
    r"\b(?:(?:prompt )?processing|prompt|prefill|eval|token generation|generation|gen|decod(?:e|ing)|pp|tg) speed\b"
    r"|^(?:pp|tg)\d{2,6}$|^(?:pp|tg|prefill|decode|gen|prompt|output|input)/s(?:ec)?$",
    re.IGNORECASE,
)


def implied_unit(head: str) -> str | None:
    """Return the unit that a heading without one implies: the speed of a prompt's processing is in tokens."""
    return "tok/s" if _SPEED_OF_TOKENS.search(head.strip("*` ")) else None


def unit_of_latencies(title: str) -> str | None:
    """Return the unit that a title states for all latencies of its table: 'All latencies are in ms.'."""
    match = _UNIT_OF_LATENCIES.search(title)
    return unit_of(match[1])[0] if match else None


def test_unit(title: str) -> str | None:
    """Return the unit of a table whose title names a test of llama-bench: 'tg64, no speculation'."""
    return "tok/s" if _TEST.search(title) else None


@lru_cache(maxsize=1024)  # the heads of a table are asked for at every cell
def unit_in(text: str) -> str | None:
    """Return the unit in a heading: 'TTFT (ms)', 'tg t/s (c=1)', 'tg128 decode (t/s)', 'Throughput (tokens/sec)'."""
    text = _CYRILLIC_SECONDS.sub("s", _QUANTISATION.sub("", text))
    variable = text.strip("`*")
    if "_" in variable and _NAME.fullmatch(variable) and (name_unit := named_unit(in_words(variable).lower())):
        return name_unit.unit if name_unit.factor == 1.0 else None
    match = HEADING_UNIT.search(text) or (HEADING_UNIT.search(in_words(text)) if "_" in text else None)
    if match is None:
        return None
    spelling = next(unit for unit in match.groups() if unit)
    if _TOKENS_PER_JOULE.fullmatch(spelling):
        return "tok/J"
    return _OF_HEADINGS.get(spelling.lower()) or unit_of(spelling)[0]


def may_have_figure(text: str) -> bool:
    """Return whether a text may have a figure: a number before a unit, or a word of one. It is quick, not exact."""
    return names_unit(text) or _BEHIND_A_NUMBER.search(text) is not None


def names_unit(text: str) -> bool:
    """Return whether a text may name a unit without a number before it."""
    lowered = text.lower()
    return any(word in lowered for word in _WORDS_OF_UNITS)
