"""Reads the figures that stand in running text: 'TTFT was around 350 ms at 8k context and 1.2 s at 32k'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.compared_numbers import (
    SENTENCE_NUMBER,
    UNITLESS,
    NumberGroup,
    compared_numbers,
    dimension,
)
from collectors.imports.results.prose.metric_names import (
    DERIVED,
    LATENCIES_OF_TOKENS,
    MetricName,
    metric_of,
    statistic_of,
)
from collectors.imports.results.prose.number_text import MEMORY, StatedNumber, with_shared_unit, with_unit_first
from collectors.imports.results.prose.paragraphs import Paragraph, read_paragraphs, with_joined_answers
from collectors.imports.results.prose.units import may_have_figure, pattern_of
from collectors.imports.results.prose.unmeasured import is_hypothetical, is_unmeasured

MAX_LINE_CHARS = 2000
MAX_LABEL_CHARS = 120
MAX_SENTENCE_CHARS = 160  # as a label
_BAR = re.compile(r"\|")
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\da-z])")
_BOUNDARY = re.compile(
    r",(?!\d\d\d)|[;•·→。，；|]|\.\s"
    r"|(?<![\w-])(?:and|with|while|but|whereas|vs|versus|because|since|although|though|which|when"
    r"|compared (?:to|with))(?![\w-])",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"\d\d:\d\d:\d\d|^\W{0,3}(?:INFO|DEBUG|WARN|ERROR|TRACE)\b|^\s*(?:ggml_\w{1,40}|Device \d{1,3}):"
)
_CODE = re.compile(
    r"^\s*--\w|[{}]|<[a-z/]|(?<![-=\s])>(?!\s)|://|^\s*(?:(?:\$|#!|import|def|if)\s|from\s[\w.]+\simport\s|for\s.{1,60}\sin\s.{1,200}:)"
)
_LINK = re.compile(r"(?<=\])\([^()\s]{1,400}\)|<?https?://[^\s<>)]{1,400}>?")
_FLAG = re.compile(r"\s--\w")
_PUNCTUATION = re.compile(r"[a-z)][.,] [A-Za-z]")  # of a sentence: no command has it
_QUOTED = re.compile(r"(?<!`)`[^`]{1,200}`(?!`)")  # code within a sentence: 'with `--spec-type mtp`'
_SERVED = re.compile(
    r"throughput|serv(?:ed?|es|ing)\b|handl|complet|achiev|sustain|process|finish|reach|saturat", re.IGNORECASE
)
_TIGHT_SLASH = re.compile(
    rf"(\d)/(?=\d[\d.,]{{0,12}}(?:/\d[\d.,]{{0,12}}){{0,5}} ?(?:{pattern_of('tok/s', 'ms')})(?!\w))", re.IGNORECASE
)
_SETTING = re.compile(r"(?<![\w-])[A-Za-z][\w-]{0,40}=[\w.]{1,40}")  # 'prompt_tokens=191' names no metric
_BRACKET = re.compile(r"\s{0,3}\([^()]{1,80}\)")  # '45 tok/s (chat, 8 concurrent)'
_LEVEL_IN_BRACKETS = re.compile(r"\([^()]{0,80}\d concurrent[^()]{0,80}\)")  # no word for the speed of all together
_CLAUSE = re.compile(r";|\b(?:while|whereas)\b", re.IGNORECASE)
_PREFILL_TAKES = re.compile(  # 'prefill drops from 49 s to 2 s'
    r"\bprefill(?:ing)?"
    r"(?: (?:drop(?:s|ped)?|falls?|fell|goes|went|takes?|took|is|was|of|from|in|to|p\d\d|median|mean))*\W*$",
    re.IGNORECASE,
)
_VERSUS = re.compile(r"\b(?:vs|versus|against|compared)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:complete|whole|entire|total|end-to-end|errors?)\b", re.IGNORECASE)  # no first token's
_FROM = re.compile(r"\bfrom\s*$", re.IGNORECASE)
_TO = re.compile(r"(?P<of_former>\s[^,;.]{0,20}?\w.{0,60}?)\sto\s*", re.IGNORECASE)  # '45 tok/s on one to 60 on two'
_OPEN_BRACKET = re.compile(r"\s{0,9}\([^()]*$")
_CONDITION = re.compile(r"\s?with [^\d,;.]{1,30}\d{1,6}\b(?!\.?\d)", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"\( {0,9}\)")  # of a number alone
_MARKUP = re.compile(r"[`*]{1,3}")
_MEMORY_OF_CARD = re.compile(
    r"\b(?:[ABHLV]\d{1,3}S?|GB\d{2,3}|MI\d{2,3}X?|[2-9]0[5-9]0(?: Ti| Super)?|Max|PRO \d{4}|Spark|Mac\w*)[\s(-]{0,3}$",
    re.IGNORECASE,
)
_CARD_BEHIND = re.compile(r"\s*(?:cards?|GPUs?|boxe?s?|machines?|devices?|laptops?|boards?|systems?)\b", re.IGNORECASE)
_RATE = re.compile(r"\b(?:rate|speed|throughput)\W*$", re.IGNORECASE)  # '14.6 toks' behind it are per second
_AT = re.compile(r"\bat\s*$", re.IGNORECASE)
_LISTED = re.compile(r",(?!\d)|\band\b|/", re.IGNORECASE)
_SLASHED = re.compile(r"(?P<names>[A-Za-z][\w.]{0,20}(?: ?/ ?[A-Za-z][\w.]{0,20})+)\W{0,4}$")
_TOKENS_IN_TIME = (["tokens", "s", "tok/s"], ["tokens", "ms", "tok/s"])
_IN = re.compile(r"\s*(?:in|over|took|→|->|=>|=)\s*", re.IGNORECASE)
_USED_MEMORY = re.compile(
    r"\b(?:weights|resident|us(?:e[sd]?|ing|age)|consum(?:es?|ed|ing|ption)|tak(?:es?|ing)|took|peak\w*|footprint|occup\w+|allocat\w+"
    r"|(?<!total )vram(?= ?[:=]))\b",
    re.IGNORECASE,
)
_NOT_USED = re.compile(r"\b(?:cannot|not|never|can['\u2019]?t)\b.{0,20}\b(?:resident|use|allocat)", re.IGNORECASE)
_WORDS_OF_METRIC = (
    r"(?:\W*\b(?:an?|the|of|at|in|to|is|was|about|and|with|for|from|by|i|drops?|then|overall|peaks?|peaked|tokens?|second|first"
    r"|(?:single|multi)[- ]?stream|inter[- ]token|time[- ]to[- ]first[- ]token"
    r"|speeds?|rates?|times?|throughput|latency|prefill\w*|prompt|decod(?:e|ing)|generation"
    r"|gen|output|input|eval|acceptance|ttft|tpot|itl|e2e|pp|tg|tps|mean|median|average|avg|p\d\d)\b)"
)
_METRIC_ALONE = re.compile(rf"{_WORDS_OF_METRIC}+\W*", re.IGNORECASE)  # 'a median TTFT of'
_METRIC_AT_END = re.compile(rf"{_WORDS_OF_METRIC}+\W*$", re.IGNORECASE)  # 'the old build: decode'
_TO_FIRST_TOKEN = re.compile(r"tokens?\b.{0,40}\bto first token", re.IGNORECASE)  # as LM Studio shows an answer
_LEAD = re.compile(r"[\s*>-]{0,8}(?P<label>[A-Za-z][\w /()-]{1,40}):")  # 'Generation: 128 tokens, 55.3 tok/s'
_SPEED_OF_TOKENS = ("ttft_ms", "ttfr_ms", "itl_ms", "tpot_ms", "prompt_ms", "decode_ms", "e2e_ms", "acceptance_length",
                    "acceptance_rate", "duration_s")  # fmt: skip


class Statement(NamedTuple):
    """A figure of a sentence, with the words of its clause."""

    line: int  # from 1
    words: str
    value: StatedNumber
    metric_name: MetricName
    statistic: str
    paragraph: str  # that it stands in
    condition: str = ""  # 'with concurrency 16' right behind it


class _Place(NamedTuple):
    """A number of a sentence, the words before it that speak of it, and those after it."""

    value: StatedNumber
    before: str
    after: str
    rank: int | None = None  # among compared numbers
    is_restated: bool = False  # '292.1 seconds (4.9 minutes)'
    is_only: bool = False  # figure of its sentence
    subject: str = ""  # of a listed number
    clause_end: int = 0  # where the words after it end in the sentence
    start: int = 0  # of the number in its sentence
    end: int = 0  # of the numbers that it is compared with
    former_end: int = 0  # of the number before it
    is_of_tokens: bool = False  # the time that '256 tokens in 3.1 s = 82 tok/s' took
    is_former: bool = False  # of two in '45 versus 60 tok/s with a draft'


def read_sentences(text: str) -> list[Statement]:
    """Return the figures of running text whose words name a metric; speeds and memory without one are 'stated'.

    What nobody measured is none: what is asked, wished, assumed or denied, and the rate at which a load is sent.
    """
    lines = with_joined_answers([_running_text(line) for line in text.splitlines()])
    return [
        statement for paragraph in read_paragraphs(lines) if may_have_figure(paragraph.text)
        for start, sentence in _sentences(with_unit_first(paragraph.text))
        for statement in _statements(paragraph, start, sentence)
    ]  # fmt: skip


def _running_text(line: str) -> str:
    """Return a line without marks, compared numbers apart: '350 / 370 tok/s'; empty for a log's, a program's."""
    if len(line) > MAX_LINE_CHARS:
        return ""
    line = _LINK.sub("", line) if "](" in line or "://" in line else line
    unquoted = _QUOTED.sub("", line)
    is_command = len(_FLAG.findall(unquoted)) > 1 and not _PUNCTUATION.search(unquoted)
    is_other = is_command or _LOG_LINE.search(line) or _CODE.search(unquoted)
    return "" if is_other else with_shared_unit(_TIGHT_SLASH.sub(r"\1 / ", _MARKUP.sub("", line)))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
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


def states_speed(text: str) -> bool:
    """Return whether a sentence states a speed or a latency of tokens."""
    return any(
        statement.value.unit == "tok/s" or statement.metric_name.metric in LATENCIES_OF_TOKENS
        for statement in read_sentences(text)
    )


def _statements(paragraph: Paragraph, start: int, sentence: str) -> Iterator[Statement]:
    if not may_have_figure(sentence) or is_hypothetical(sentence):
        return
    former: tuple[str | None, MetricName, str] | None = None  # dimension, metric, statistic
    places = [_as_rate(place) for place in _places(sentence)]
    subject = _subject_of(sentence[: places[0].start]) if places else ""
    for place in places:
        if place.is_restated:
            continue
        near_words = f"{place.before} {' '.join(place.after.split()[:2])}"  # '350 ms median'
        if _is_no_result(place, sentence) or DERIVED.search(near_words):
            former = None
            continue
        unit = place.value.unit
        name = _metric_of(place, sentence)
        if name is None and place.is_of_tokens:
            name = _of_unit(MetricName("duration_s"), unit)
        words_between = sentence[place.former_end : place.start]
        is_alike = not place.value.words and place.value.bound != "min" and not _WHOLE.search(place.before)
        is_carried = name is None and former is not None and is_alike and ": " not in words_between  # of another thing
        if is_carried and former and former[0] == dimension(unit):
            name = _of_unit(former[1], unit)
        if name is None and (unit == "tok/s" or _is_used_memory(place, f"{place.before} {place.after}")):
            name = MetricName(STATED)
        statistic = statistic_of(near_words, place.value.bound, name.metric) if name else STATED
        if is_carried and former and statistic == STATED and _VERSUS.search(words_between):
            statistic = former[2]
        former = (dimension(unit), name, statistic) if name and name.metric != STATED else None
        if name:
            label, subject = _label_and_subject(place, sentence, subject)
            line = paragraph.line_at(start + place.start)
            condition = match[0] if (match := _CONDITION.match(sentence, place.end)) else ""
            yield Statement(line, label, place.value, name, statistic, paragraph.text, condition)


def _is_no_result(place: _Place, sentence: str) -> bool:
    """Return whether a number is a rate of load, a part of a sum, a change, a condition, or was not measured."""
    unit, words = place.value.unit, f"{place.before} {place.after}"
    is_of_load = unit == "requests/s" and not _SERVED.search(words)
    is_summed = unit in ("ms", "s") and (place.after.lstrip()[:1] == "+" or " + " in place.before)
    is_change = unit in ("%", "ms", "s") and place.before.endswith(("+", "−"))
    is_condition = place.value.words != "" and _AT.search(place.before) is not None  # 'throughput at 40 tok/s/user'
    is_other = is_of_load or is_summed or is_change or is_condition
    return is_other or is_unmeasured(place.before, place.value.bound, sentence, place.clause_end)


def _label_and_subject(place: _Place, sentence: str, subject: str) -> tuple[str, str]:
    """Return the words that name a figure, and what the sentence speaks of from there on.

    subject: what it speaks of up to there, which a figure bears whose own words name only its metric.
    """
    words_between = sentence[place.former_end : place.start]
    own_words = place.subject or _since_clause(words_between) or place.before
    after = "" if place.is_former and any(map(str.isalpha, own_words)) else place.after
    label = " ".join(_EMPTY_BRACKETS.sub(" ", f"{own_words} {after}").split()).strip(" -•*=→:.,/#")
    label = label.rstrip(" (") if "(" in label else label.rstrip(" )")  # 'at c=1 TPOT )' of '(TPOT 81 ms)'
    if label == "" or place.is_only:
        label = _words_about(sentence, place.start)
        subject = subject or label
    elif _METRIC_ALONE.fullmatch(label):  # behind an arrow it is of another subject, which has no words
        label = _words_about(sentence, place.start) if "→" in words_between else f"{subject}: {label}"
        label = label.removeprefix(": ")
    elif place.rank is None and ")" not in label:
        subject = _subject_of(own_words) or subject
    return label + (f": value {place.rank}" if place.rank else ""), subject


def _since_clause(words: str) -> str:
    """Return the words behind a semicolon or the like, which begins another subject; nothing without one."""
    clauses = _CLAUSE.split(words)
    return clauses[-1] if len(clauses) > 1 and len(clauses[-1]) <= MAX_LABEL_CHARS else ""


def _subject_of(words: str) -> str:
    """Return what the words before a figure speak of, without its metric and what a bracket adds."""
    return _OPEN_BRACKET.sub("", _METRIC_AT_END.sub("", words)).strip(" -•*>:,#")[-MAX_LABEL_CHARS:]


def _words_about(sentence: str, position: int) -> str:
    """Return a sentence, of a long one what stands about a figure."""
    start = max(0, min(position - MAX_SENTENCE_CHARS // 2, len(sentence) - MAX_SENTENCE_CHARS))
    start = sentence.find(" ", start) if start else 0
    return " ".join(sentence[start : start + MAX_SENTENCE_CHARS].split()).lstrip("# ")


def _as_rate(place: _Place) -> _Place:
    """Return a number of tokens that its words call a rate as one per second: 'eval rate 14.6 toks'."""
    is_rate = place.value.unit == "tokens" and _RATE.search(place.before)
    return place._replace(value=place.value._replace(unit="tok/s")) if is_rate else place


def _is_used_memory(place: _Place, words: str) -> bool:
    """Return whether a number is memory in use; '≥20 GB VRAM' is what a card needs, 'A100 80GB' what it has."""
    is_of_card = place.value.bound is not None or _MEMORY_OF_CARD.search(place.before) is not None
    is_of_card |= _CARD_BEHIND.match(place.after) is not None
    is_used = _USED_MEMORY.search(words) is not None and not _NOT_USED.search(words)
    return place.value.unit in MEMORY and not is_of_card and is_used


def _of_unit(name: MetricName, unit: str | None) -> MetricName:
    """Return a metric of the former number for another unit of time."""
    seconds = 1.0 if name.metric.endswith("_s") else 1e3
    return name._replace(factor={"s": seconds, "ms": seconds / 1e3}[unit]) if unit in ("s", "ms") else name


def _metric_of(place: _Place, sentence: str) -> MetricName | None:
    """Return the metric that the words before a number name, else those after it."""
    unit = place.value.unit
    if unit is None:
        return metric_of(place.before, None) if UNITLESS.search(place.before) else None
    if unit == "tok/s" and _TO_FIRST_TOKEN.search(sentence):
        return MetricName("decode_tps")
    if place.value.words:  # of its unit: 'tok/s/user'
        if unit not in ("ms", "s"):
            return metric_of(place.value.words, unit)
        is_aside = place.before.rstrip().endswith("(")  # 'the allreduce (~3 ms/token)' is a part of it
        return None if is_aside else metric_of(f"{place.before}{place.value.words}", unit)
    after = _LEVEL_IN_BRACKETS.sub(" ", place.after)
    names = [metric_of(_SETTING.sub(" ", words), unit) for words in (place.before, after)]
    name = names[0] or names[1]
    if name is None and unit in ("ms", "s") and _PREFILL_TAKES.search(place.before):
        return MetricName("prompt_ms", 1.0 if unit == "ms" else 1e3)
    is_known = name is not None and (unit in ("tok/s", "requests/s") or name.metric in _SPEED_OF_TOKENS)
    return name if is_known else None


def _places(sentence: str) -> Iterator[_Place]:
    """Yield the numbers of a sentence; the words between two belong to the one on their side of a comma.

    Compared numbers ('45 → 60 tok/s') share their unit and the words around them.
    """
    has_words = any(map(str.isalpha, SENTENCE_NUMBER.sub("", sentence)))
    groups = [group for group in compared_numbers(sentence) if _may_be_stated(sentence, group)] if has_words else []
    lead = match["label"] if (match := _LEAD.match(sentence)) else ""
    before = sentence[: groups[0].start] if groups else ""
    own, former_end, is_only = "", 0, sum(len(group.values) for group in groups) == 1
    for index, (group, following_group) in enumerate(zip_longest(groups, groups[1:])):
        following = sentence[group.end : following_group.start if following_group else None]
        own_bracket = _BRACKET.match(following)
        boundary = _BOUNDARY.search(following, own_bracket.end() if own_bracket else 0)
        bracket = own_bracket.end() if own_bracket else following.find("(") if following_group else -1
        end = min((at for at in (boundary.start() if boundary else -1, bracket) if at >= 0), default=len(following))
        moved = _TO.fullmatch(following) if following_group and _FROM.search(sentence[: group.start]) else None
        end = moved.end("of_former") if moved else end
        after = following[:end]
        last_boundary = max((cut.end() for cut in _BOUNDARY.finditer(before)), default=0)
        is_of_former = index > 0 and sentence[groups[index - 1].end : group.start].strip() == "/"
        own = own if is_of_former else before[last_boundary:]  # '42 ms / 380 tok/s' are of one thing
        own = own if own.strip() or after.strip() else lead
        words_before = sentence[former_end : group.start]
        subjects = (
            _subjects(words_before, len(group.values)) if group.is_listed
            else _slashed_names(own, sentence, group)
        )  # fmt: skip
        is_of_tokens = index > 0 and _is_time_of_tokens(sentence, groups[index - 1 : index + 2])
        for number, (rank, value) in enumerate(group.ranked_values):
            subject = subjects[number] if subjects else _words_around_bracket(words_before) if index else ""
            words = _words_of(subject, subjects, value.unit) if subjects else own
            is_restated = index > 0 and _restates(sentence, groups[index - 1], group)
            own_rank = None if subjects else rank
            clause_end = group.end + end
            yield _Place(
                value,
                words,
                after,
                own_rank,
                is_restated,
                is_only,
                subject,
                clause_end,
                group.start,
                group.end,
                former_end,
                is_of_tokens,
                is_former=group.is_versus and rank == 1,
            )
        takes_all = end == len(following) and _takes_all(own, group, following, following_group)
        start = boundary.end() if boundary and boundary.start() == end else end + (own_bracket is None)
        before = "" if takes_all else following[start:] if end < len(following) else following
        before = _FROM.sub("", own) if moved else before
        former_end = group.end


def _may_be_stated(sentence: str, group: NumberGroup) -> bool:
    """Return whether numbers may be results: memory that nothing near says to be in use is a card's."""
    near_words = sentence[max(0, group.start - MAX_LABEL_CHARS) : group.end + MAX_LABEL_CHARS]
    return group.values[0].unit not in MEMORY or _USED_MEMORY.search(near_words) is not None


def _words_around_bracket(words: str) -> str:
    """Return the words between two figures if the second stands in brackets behind them: '(TTFT 81 ms)'; else nothing.

    They tell what the bracket speaks of: '45 tok/s at c=1 (TTFT 81 ms), 90 tok/s at c=2 (TTFT 95 ms)'.
    """
    before, _, inside = words.partition("(")
    return f"{before.strip()} {inside.strip()}" if before.strip() and inside.strip() and ")" not in inside else ""


def _subjects(words: str, count: int) -> list[str]:
    """Return the words that belong to each of several listed numbers: 'Prefill and decode run at 900 and 45 tok/s'."""
    parts = [part for part in _LISTED.split(words) if part.strip()]
    return parts[-count:] if len(parts) >= count else []


def _slashed_names(words: str, sentence: str, group: NumberGroup) -> list[str]:
    """Return the names of numbers that stand like their names: 'wall/decode: 46.5 / 47.1 tok/s'; else nothing."""
    match = _SLASHED.search(words)
    names = match["names"].split("/") if match and "/" in sentence[group.start : group.end] else []
    lead = words[: match.start()].strip() if match else ""
    return [f"{lead} {name}".strip() for name in names] if len(names) == len(group.values) > 1 else []


def _words_of(subject: str, subjects: Sequence[str], unit: str | None) -> str:
    """Return the words that name the metric of a listed number: its own, or those of the whole list behind them."""
    return subject if metric_of(subject, unit) else f"{subject} {subjects[-1]}"


def _restates(sentence: str, former: NumberGroup, group: NumberGroup) -> bool:
    """Return whether a number in brackets is the one before them in another unit."""
    is_bracketed = sentence[former.end : group.start].strip() == "(" and sentence[group.end :].lstrip()[:1] == ")"
    units = [dimension(values[0].unit) for values in (former.values, group.values)]
    return is_bracketed and units == ["time", "time"]


def _is_time_of_tokens(sentence: str, groups: Sequence[NumberGroup]) -> bool:
    """Return whether the second group is the time of the first one's tokens, and the third their rate."""
    if len(groups) < 3 or [group.values[0].unit for group in groups] not in _TOKENS_IN_TIME:
        return False
    return _IN.fullmatch(sentence[groups[0].end : groups[1].start]) is not None


def _takes_all(own: str, group: NumberGroup, words: str, following_group: NumberGroup | None) -> bool:
    """Return whether the words between two numbers all belong to the first.

    They do if no words before it name its metric, and the second number does not need them.
    """
    if following_group is None or metric_of(own, group.values[0].unit):
        return False
    unit, next_unit = group.values[0].unit, following_group.values[0].unit
    return unit == next_unit or metric_of(words, unit) is not None or metric_of(words, next_unit) is None
