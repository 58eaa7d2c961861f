"""Reads passages of 'name: figure' lines, and lines of 'name=figure' pairs, as scripts print their own summaries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.heads import LEVEL_HEADS, SETTING_HEAD, plain
from collectors.imports.results.prose.metric_names import (
    AIMED_AT,
    DERIVED,
    LATENCIES_OF_TOKENS,
    metric_of,
    names_side_alone,
)
from collectors.imports.results.prose.number_text import (
    BEHIND_STATISTIC,
    NUMBER,
    StatedNumber,
    is_inverse,
    parse_number,
)
from collectors.imports.results.prose.units import unit_in

MAX_LINE_CHARS = 400
MOST_WORDS = 5  # of a label that names a metric without its unit: 'Order by TTFT'
_LINE = re.compile(
    r"[\s>*•-]{0,12}(?:\d{1,2}[.)] {1,4})?[*`\"]{0,3}(?P<label>[^\W\d](?:[^:=|`\"]|=(?=\d)){1,60}?)"
    rf"[`*\"]{{0,3}} {{0,40}}[:=][`* \t]{{0,60}}(?:{NUMBER})"
    r"[`*]{0,3}(?: \((?P<bracket>[^()]{1,80})\))?(?:[,;] ?[^\d,;]{0,40}\d[\d.]{0,8} ?[x×%](?![\w]).{0,80})?"
    r"[ \t,;]{0,80}(?:#.{0,160})?",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"(?<!\S)(?P<label>(?:avail )?[A-Za-z][\w/%.-]{{0,40}})= {{0,6}}(?:{NUMBER})(?=[\s,;)]|$)", re.IGNORECASE
)
_LISTED = re.compile(  # 'itl p50/p95=24/25ms'
    r"(?<!\S)(?P<name>[A-Za-z]\w{0,20}) (?P<statistics>(?:mean|avg|median|min|max|p\d\d)(?:/(?:max|p\d\d)){1,4})"
    r"[=:] ?(?P<values>\d[\d.]{0,12}(?:/\d[\d.]{0,12}){1,4}) ?(?P<unit>ms|s)\b"
    r"(?! ?(?:→|-{1,2}>|=>|to\b|vs\b))"  # compared lists are read as a sentence
)
_CONTEXT = re.compile(r"n?[_ ]?ctx(?:[_ ](?:size|len))?|context(?:[_ ](?:size|len(?:gth)?|tokens))?", re.IGNORECASE)
_OF_DRAFTS = ({"draft", "acc"}, {"drafted", "accepted"}, {"draft", "accepted"})  # then 'rate' is that of acceptance
SETTING = re.compile(  # of the load
    r"rps|qps|rpm|(?:\w{1,20} ){0,2}(?:rate )?(?:limits?|quotas?|caps?)"
    r"|(?:target |configured |traffic )?(?:request )?rate(?: configured)?(?: \((?:rps|req/s)\))?",
    re.IGNORECASE,
)
_SPEED_ALONE = re.compile(r"(?:(?:mean|median|avg|average) )?(?:throughput|speed|rate)", re.IGNORECASE)
_PARTS_OF_BRACKET = re.compile(r"[,;] |/ ")
_BRACKETS = re.compile(r"\([^()]{0,80}\)")
_TIME_PER_TOKEN = re.compile(rf"(?:{NUMBER})", re.IGNORECASE)
_UNIT_AT_END = re.compile(r"_(?P<unit>ms|s)$")
_LEAST_LINES, _LEAST_PAIRS = 3, 2


class Figure(NamedTuple):
    """A figure with the name before it; `unit` is Pitwall's, None for a count or a setting."""

    line: int  # from 1
    passage: str  # the words before the pairs of a line, which tell its figures apart
    label: str
    value: StatedNumber
    unit: str | None
    is_pair: bool = False  # of a line with several
    heading: str = ""  # the words above it that name its metric, if it has none of its own
    time_per_token: StatedNumber | None = None  # of a speed that stands beside it: '45 tok/s (22.2 ms/tok)'

    @property
    def words(self) -> str:
        """The words that name its metric."""
        return f"{self.label} {self.heading}".strip()

    @property
    def is_speed(self) -> bool:
        """Whether it is a speed or a latency of tokens."""
        metric_name = metric_of(self.words, self.unit)
        return self.unit == "tok/s" or (metric_name is not None and metric_name.metric in LATENCIES_OF_TOKENS)


def read_figure_lines(
    text: str, labels_above: Callable[[int], Sequence[str]] = lambda line: ()
) -> tuple[list[Figure], str]:
    """Return the figures of such passages, and the text with their lines left empty.

    `labels_above`: the words that stand above a line, the nearest first; they may name the metric of its figures.

    A passage has a figure of a known metric: other lines with a colon and a number are no benchmark's. A duration
    beside a limit is that of a load's settings, and no result.
    """
    lines, figures = _LISTED.sub(_told_apart, text).splitlines(), []
    lines_of_pairs: set[int] = set()  # of a heading's metric, so that their last pair is no line of its own
    for passage in (*_pair_lines(lines), *_passages(lines)):
        passage = [_under(figure, labels_above(figure.line)) for figure in passage if figure.line not in lines_of_pairs]
        passage = [part for figure in passage for part in (figure, *_time_of_decoding(figure))]
        if not passage:
            continue
        count_of_lines = len({figure.line for figure in passage})
        is_short = len(passage) < _LEAST_PAIRS if passage[0].is_pair else count_of_lines < _LEAST_LINES
        passage = [figure for figure in passage if figure.heading] if is_short else passage
        metrics = _metrics_of(passage)
        is_of_load = metrics == {"duration_s"} and any(AIMED_AT.search(figure.label) for figure in passage)
        figures += passage if metrics and not is_of_load else []
        lines_of_pairs |= {figure.line for figure in passage if metrics and figure.is_pair and figure.heading}
        for figure in passage if metrics else []:
            line = lines[figure.line - 1]
            lines[figure.line - 1] = _PAIR.sub(_blank, line) if figure.is_pair else ""
    return figures, "\n".join(lines)


def _told_apart(match: re.Match[str]) -> str:
    """Return a pair for each of several statistics: 'itl_p50=24ms itl_p95=25ms'."""
    names, values = match["statistics"].split("/"), match["values"].split("/")
    if len(names) != len(values):
        return match[0]
    return " ".join(f"{match['name']}_{name}={value}{match['unit']}" for name, value in zip(names, values, strict=True))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _metrics_of(passage: Sequence[Figure]) -> set[str]:
    """Return the metrics that a passage states; STATED for a speed of tokens that Pitwall has no metric for."""
    figures = [figure for figure in passage if not DERIVED.search(figure.label)]
    names = {name.metric for figure in figures if (name := metric_of(figure.words, figure.unit))}
    return names | {STATED for figure in figures if figure.unit == "tok/s"}


def _under(figure: Figure, labels: Sequence[str]) -> Figure:
    """Return a figure with the label above it that names the figure's metric: 'TTFT:' above 'vLLM: 81 ms'."""
    last_word = figure.label.split()[-1]
    is_setting = SETTING.fullmatch(figure.label) or (
        figure.unit is None
        and (SETTING_HEAD.fullmatch(plain(figure.label)) or any(head.fullmatch(last_word) for head in LEVEL_HEADS))
    )  # 'c=1   c=2   c=4' are heads
    if figure.unit == "tok/s" and _SPEED_ALONE.fullmatch(figure.label) and any(map(names_side_alone, labels[:1])):
        return figure._replace(heading=labels[0])  # 'Throughput' under 'Prefill'
    if is_setting or metric_of(figure.label, figure.unit):
        return figure
    for label in labels:
        unit = figure.unit or unit_in(label)
        own_words = _BRACKETS.sub("", label)  # '(1) TTFT (short prompt, 30 requests)'
        is_name = unit_in(label) is not None or (label == labels[0] and len(own_words.split()) <= MOST_WORDS)
        if is_name and unit is not None and metric_of(label, unit) is not None and not DERIVED.search(label):
            return figure._replace(heading=label, unit=unit)
    return figure


def _passages(lines: Sequence[str]) -> Iterator[list[Figure]]:
    """Yield the figures of consecutive lines that each hold one."""
    passage: list[Figure] = []
    for number, line in enumerate([*(line.replace("`", "") for line in lines), ""], 1):
        match = _LINE.fullmatch(line) if len(line) <= MAX_LINE_CHARS else None
        if match:
            figure = _figure(number, "", match)
            figure = figure._replace(time_per_token=_time_in_bracket(figure, match["bracket"] or ""))
            passage += [figure, *_statistics_in_bracket(figure, match["bracket"] or "")]
            continue
        if passage:
            yield passage
        passage = []


def _statistics_in_bracket(figure: Figure, bracket: str) -> list[Figure]:
    """Return the other statistics of a figure, which stand behind it: '(median: 81 ms, p99: 95 ms)'."""
    matches = [BEHIND_STATISTIC.fullmatch(part.strip()) for part in _PARTS_OF_BRACKET.split(bracket)]
    values = [(match["statistic"], parse_number(match)) for match in matches if match]
    if len(values) < len(matches) or any(value.unit not in (None, figure.unit) for _, value in values):
        return []
    return [figure._replace(label=f"{figure.label} {statistic}", value=value) for statistic, value in values]


def _time_in_bracket(figure: Figure, bracket: str) -> StatedNumber | None:
    """Return the time of a token that the bracket behind a speed states."""
    match = _TIME_PER_TOKEN.fullmatch(bracket)
    value = parse_number(match) if match and figure.unit == "tok/s" else None
    return value if value and value.words and is_inverse(figure.value, value) else None


def _time_of_decoding(figure: Figure) -> list[Figure]:
    """Return the time of a token beside a speed of decoding as a figure; a prompt's tokens have none of their own."""
    metric_name = metric_of(figure.words, figure.unit)
    if figure.time_per_token is None or metric_name is None or metric_name.metric != "decode_tps":
        return []
    label = f"{figure.label} time per token"
    return [figure._replace(label=label, value=figure.time_per_token, unit="ms", time_per_token=None)]


def _pair_lines(lines: Sequence[str]) -> Iterator[list[Figure]]:
    """Yield the figures of each line with several pairs."""
    for number, line in enumerate(lines, 1):
        matches = list(_PAIR.finditer(line)) if len(line) <= MAX_LINE_CHARS and "|" not in line else []
        if len(matches) >= _LEAST_PAIRS:
            words = line[: matches[0].start()].strip(" \t-*•`,;:=[]")
            labels = {match["label"].lower() for match in matches}
            is_of_drafts = any(names <= labels for names in _OF_DRAFTS)
            heads = (*LEVEL_HEADS, _CONTEXT)
            levels = [match for match in matches if any(head.fullmatch(plain(match["label"])) for head in heads)]
            words = " ".join([words, *(match[0].strip(" ,;") for match in levels if match["unit"] is None)]).strip()
            lengths = {match["label"]: match for match in matches if match["label"] in ("in", "out")}
            if len(lengths) == 2 and all(match["unit"] is None for match in lengths.values()):
                words += " in {:g} / out {:g}".format(*(parse_number(lengths[name]).low for name in ("in", "out")))
                levels += lengths.values()
            results = [match for match in matches if match not in levels or match["unit"]] or matches
            figures = [_figure(number, words, match)._replace(is_pair=True) for match in results]
            yield [
                figure._replace(label="accept rate", unit=None) if is_of_drafts and figure.label == "rate" else figure
                for figure in figures
            ]


def _figure(number: int, passage: str, match: re.Match[str]) -> Figure:
    value = parse_number(match)
    label = match["label"].strip(" -*•`")
    in_name = _UNIT_AT_END.search(label)
    unit = value.unit or unit_in(label) or (in_name["unit"].lower() if in_name else None)
    unit = None if SETTING.fullmatch(label) else unit
    return Figure(number, passage, label.replace("_", " "), value, unit)
