"""Reads the figures that stand in running text: 'TTFT was around 350 ms at 8k context and 1.2 s at 32k'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.compared_numbers import UNITLESS, dimension
from collectors.imports.results.prose.consoles import FENCE
from collectors.imports.results.prose.decoding_speeds import OF_ALL_STREAMS
from collectors.imports.results.prose.figure_labels import label_and_subject, subject_of
from collectors.imports.results.prose.metric_names import (
    AIMED_AT,
    DERIVED,
    LATENCIES_OF_TOKENS,
    MetricName,
    metric_of,
    names_arm_at_peak,
    names_side_alone,
    statistic_of,
)
from collectors.imports.results.prose.number_text import NUMBER, StatedNumber, is_inverse, parse_number, with_unit_first
from collectors.imports.results.prose.paragraphs import Paragraph, read_paragraphs, with_joined_answers
from collectors.imports.results.prose.running_text import running_text, sentences_of
from collectors.imports.results.prose.sentence_places import Place, places_of
from collectors.imports.results.prose.units import may_have_figure, unit_in
from collectors.imports.results.prose.unmeasured import (
    is_hypothetical,
    is_listed_further,
    is_unmeasured,
    names_others,
)
from collectors.imports.results.prose.used_memory import is_used_memory

_SERVED = re.compile(
    r"throughput|serv(?:ed?|es|ing)\b|handl|complet|achiev|sustain|process|finish|reach|saturat", re.IGNORECASE
)
_SETTING = re.compile(r"(?<![\w-])[A-Za-z][\w-]{0,40}=[\w.]{1,40}")  # 'prompt_tokens=191' names no metric
_LEVEL_IN_BRACKETS = re.compile(r"\([^()]{0,80}\d concurrent[^()]{0,80}\)")  # no word for the speed of all together
_PREFILL_TAKES = re.compile(  # 'prefill drops from 49 s to 2 s'
    r"\bprefill(?:ing)?"
    r"(?: (?:drop(?:s|ped)?|falls?|fell|goes|went|takes?|took|is|was|of|from|in|to|p\d\d|median|mean))*\W*$",
    re.IGNORECASE,
)
_DECODE_TAKES = re.compile(r"\bdecod(?:e|ing)(?: (?:takes?|took|is|was|in|p\d\d|median|mean))*\W*$", re.IGNORECASE)
_PHASE = (
    r"(?P<phase>prompt (?:eval(?:uation)?|processing)|prefill|decod(?:e|ing)|(?:token |text )?generation)(?: speed)?"
)
_PHASE_BEFORE_BRACKET = re.compile(rf"\b{_PHASE}\s*\(\s*$", re.IGNORECASE)  # 'as slow as decode (66 tok/s)'
_PHASE_WITH = re.compile(rf"\b{_PHASE} with\s*$", re.IGNORECASE)
_PHASE_OF_SUBJECT = re.compile(  # 'generation throughput on the fork, approximately 155 tok/s'
    rf"^\W*(?:the )?{_PHASE}(?: throughput| rate)? (?:on|with|for|of|in) [^,;\d]{{1,80}},\s*$", re.IGNORECASE
)
_VERSUS = re.compile(r"\b(?:vs|versus|against|compared)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:complete|whole|entire|total|end-to-end|errors?)\b", re.IGNORECASE)  # no first token's
_OTHER_SPEED = re.compile(r"\b(?:test(?:s|ing|ed)?|bench\w*|overall|speeds?|chat\w*)\b|测试|实测|速度", re.IGNORECASE)
_EACH = re.compile(r"\s{0,3}each\b", re.IGNORECASE)
_STREAMS = re.compile(
    r"\b(?:concurren\w+|parallel|users?|clients?|streams?|agents?|sessions?|requests?|slots?)\b", re.IGNORECASE
)
_CONDITION = re.compile(r"\s?with [^\d,;.]{1,30}\d{1,6}\b(?!\.?\d)", re.IGNORECASE)
_COMPARATIVE = re.compile(  # '52 ms faster with vLLM'
    r"\s{0,3}(?:faster|slower|quicker|shorter|longer|lower|higher|less|more|better|worse)\b(?! or\b)", re.IGNORECASE
)
_CHANGE_BEHIND = re.compile(  # '~5% e2e decode speedup'
    r"\s{0,3}(?:[\w-]{1,20} ){0,4}(?:speed[- ]?ups?|slow[- ]?downs?|uplift|gains?|improvements?|reductions?|overhead"
    r"|increases?|decreases?|degradation|regressions?|drops?|penalty)\b",
    re.IGNORECASE,
)
_LIMIT_BEHIND = re.compile(
    r"\s{0,3}(?:(?:rate|request|token) ){0,2}(?:limits?|quotas?|caps?|budgets?)\b", re.IGNORECASE
)
_HIT_RATE_BEHIND = re.compile(
    r"\s?(?:(?:prefix|prompt|kv|cache|caching|token|delta|overall|average|avg|mean|block) ){0,3}hit[- ]rates?\b",
    re.IGNORECASE,
)
_HIT_RATE_BEFORE = re.compile(r"\bhit[- ]rates?(?: (?:is|was|of|at|reached|stays|stayed))?\W{0,3}$", re.IGNORECASE)
_CONDITION_BEFORE = re.compile(r"\b(?:at|with|for|by)(?: an?)?\s*$", re.IGNORECASE)  # '2.7x at 90% hit rate'
_RATE = re.compile(r"\b(?:rate|speed|throughput)\W*$", re.IGNORECASE)  # '14.6 toks' behind it are per second
_CLASS = re.compile(  # 'Low TTFT (< 600 ms) feels responsive' names a class, and no maximum of a measurement
    r"\b(?:low|lower|lowest|high|higher|fast|faster|quick|slow|slower|good|great|excellent|decent|short|long)\b"
    r"[^\d()]{0,40}\(\s*$",
    re.IGNORECASE,
)
_PROJECTED = re.compile(  # 'the best case of the old bracket (7.8-15.9 min)'
    r"\b(?:brackets?|projections?|estimates?|projected (?:range|time|value))\s*\(\s*$", re.IGNORECASE
)
_BRACKETS = re.compile(r"\([^()]{0,80}\)")
_BARE_SPEED = re.compile(rf"(?:{NUMBER})[.;]?", re.IGNORECASE)
_AT = re.compile(r"\bat\s*$", re.IGNORECASE)
_TO_FIRST_TOKEN = re.compile(r"tokens?\b.{0,40}\bto first token", re.IGNORECASE)  # as LM Studio shows an answer
MOST_WORDS_OF_LABEL = 4
LabelsAbove = Callable[[int], Sequence[str]]
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


class _Former(NamedTuple):
    """What the number before another in a sentence was."""

    dimension: str | None
    name: MetricName
    statistic: str
    value: StatedNumber


def read_sentences(text: str, labels_above: LabelsAbove = lambda line: ()) -> list[Statement]:
    """Return the figures of running text whose words name a metric; speeds and memory without one are 'stated'.

    `labels_above`: the words that stand above a line, the nearest first; they may name the latency of its figures.

    What nobody measured is none: what is asked, wished, assumed or denied, and the rate at which a load is sent.
    """
    lines = [FENCE if line.lstrip()[:3] == FENCE else running_text(line) for line in text.splitlines()]
    lines = with_joined_answers(lines)
    return [
        statement for paragraph in read_paragraphs(lines) if may_have_figure(paragraph.text)
        for start, sentence in sentences_of(with_unit_first(paragraph.text))
        for statement in _statements(paragraph, start, sentence, labels_above)
    ]  # fmt: skip


def states_speed(text: str, labels_above: LabelsAbove) -> bool:
    """Return whether a sentence states a speed or a latency of tokens."""
    return any(
        statement.value.unit == "tok/s" or statement.metric_name.metric in LATENCIES_OF_TOKENS
        for statement in read_sentences(text, labels_above)
    )


def _statements(paragraph: Paragraph, start: int, sentence: str, labels_above: LabelsAbove) -> Iterator[Statement]:
    if not may_have_figure(sentence) or all(map(is_hypothetical, sentence.split(";"))):
        return
    if bare := _BARE_SPEED.fullmatch(sentence.strip()):
        yield from _labelled_speed(paragraph, start, parse_number(bare), labels_above)
        return
    former: _Former | None = None
    is_of_others = False
    places = [_as_rate(place) for place in places_of(sentence)]
    subject = subject_of(sentence[: places[0].start]) if places else ""
    for place in places:
        if place.is_restated or is_hypothetical(_clause_at(sentence, place.start)):
            continue
        near_words = f"{place.before} {' '.join(place.after.split()[:2])}"  # '350 ms median'
        is_share = _is_hit_rate(place)
        is_of_others = names_others(place.before) or (
            is_of_others and is_listed_further(sentence[place.former_end : place.start])
        )
        if is_of_others or _is_no_result(place, sentence) or (DERIVED.search(near_words) and not is_share):
            former = None
            continue
        words_between = sentence[place.former_end : place.start]
        line = paragraph.line_at(start + place.start)
        own_name = _own_name_of(place, sentence)
        name_of_label = None if own_name else _name_of_label(labels_above(line), place.value.unit)
        own_name = own_name or name_of_label
        carried = former if own_name is None and former and _is_alike(place, words_between) else None
        unit = place.value.unit
        name = _of_unit(carried.name, unit) if carried and carried.dimension == dimension(unit) else own_name
        is_inverse_of_former = former is not None and place.value.words != "" and is_inverse(former.value, place.value)
        if (
            former and is_inverse_of_former
        ):  # '45 tok/s (22.2 ms/tok)'; the tokens of a prompt have no time of their own
            name = MetricName("tpot_ms") if former.name.metric == "decode_tps" else None
        name = name or _name_of_phase_above(labels_above(line), place, sentence)
        is_stated = unit == "tok/s" or is_share or is_used_memory(place.value, place.before, place.after)
        if name is None and is_stated:
            name = MetricName(STATED)
        statistic = statistic_of(near_words, place.value.bound, name.metric) if name else STATED
        if name_of_label and statistic == STATED:
            statistic = statistic_of(labels_above(line)[0], None, name_of_label.metric)
        if name and statistic == "max" and names_arm_at_peak(place.before, name.metric):
            statistic = place.value.bound or STATED
        if carried and statistic == STATED and _VERSUS.search(words_between):
            statistic = carried.statistic
        former = _Former(dimension(unit), name, statistic, place.value) if name and name.metric != STATED else None
        if name:
            label, subject = label_and_subject(place, sentence, subject)
            condition = match[0] if (match := _CONDITION.match(sentence, place.end)) else ""
            yield Statement(line, label, place.value, name, statistic, paragraph.text, condition)


def _labelled_speed(
    paragraph: Paragraph, start: int, value: StatedNumber, labels_above: LabelsAbove
) -> Iterator[Statement]:
    """Yield a speed that has a line to itself, if a label above it tells whose it is: 'Baseline:'."""
    line = paragraph.line_at(start)
    label = next(iter(labels_above(line)), "")
    if (
        label
        and unit_in(label) is None
        and value.unit == "tok/s"
        and not (AIMED_AT.search(label) or is_hypothetical(label))
    ):
        name = metric_of(label, value.unit) or MetricName(STATED)
        yield Statement(line, "", value, name, statistic_of(label, value.bound, name.metric), paragraph.text)


def _is_hit_rate(place: Place) -> bool:
    """Return whether a share is a cache's hit rate, and no difference of two: '97% delta hit rate'."""
    is_named = _HIT_RATE_BEHIND.match(place.after) or _HIT_RATE_BEFORE.search(place.before)
    return place.value.unit == "%" and is_named is not None and not _CONDITION_BEFORE.search(place.before)


def _clause_at(sentence: str, position: int) -> str:
    """Return the part of a sentence between semicolons: an estimate in one does not make guesses of the others."""
    end = sentence.find(";", position)
    return sentence[sentence.rfind(";", 0, position) + 1 : end if end >= 0 else None]


def _own_name_of(place: Place, sentence: str) -> MetricName | None:
    """Return the metric that a number's own words name; tokens over their time name a duration."""
    name = _metric_of(place, sentence) or _name_of_phase(place, sentence)
    return _of_unit(MetricName("duration_s"), place.value.unit) if name is None and place.is_of_tokens else name


def _name_of_phase(place: Place, sentence: str) -> MetricName | None:
    """Return the metric of the phase before a number's bracket, or of what runs with its words: 'prefill with X: 9'."""
    if place.value.unit != "tok/s" or place.value.words:
        return None
    bracket = _PHASE_BEFORE_BRACKET.search(sentence[place.former_end : place.start])
    own_start = sentence.rfind(place.before, 0, place.start) if place.before.strip() else -1
    match = bracket or (_PHASE_WITH.search(sentence[:own_start]) if own_start > 0 else None)
    match = match or _PHASE_OF_SUBJECT.search(sentence[: place.start])
    return metric_of(match["phase"], "tok/s") if match else None


def _name_of_label(labels: Sequence[str], unit: str | None) -> MetricName | None:
    """Return the latency of tokens that the nearest label names: 'ITL' above 'from 17 ms to 12 ms'."""
    is_time = unit in ("ms", "s") and len(labels) > 0 and len(labels[0].split()) <= MOST_WORDS_OF_LABEL
    name = metric_of(labels[0], unit) if is_time else None
    return name if name and name.metric in LATENCIES_OF_TOKENS else None


def _name_of_phase_above(labels: Sequence[str], place: Place, sentence: str) -> MetricName | None:
    """Return the metric of a row's speed below the name of a phase: 'Run 1: 45 tok/s' below 'Prefill (4 runs)'.

    A row that names a metric itself has none of the phase above it.
    """
    phase = _BRACKETS.sub("", labels[0]) if labels else ""
    is_of_all = OF_ALL_STREAMS.search(f"{place.before} {place.after}") is not None
    is_of_row = place.before.rstrip().endswith((":", "=")) and not is_of_all and metric_of(sentence, "tok/s") is None
    is_speed = place.value.unit == "tok/s" and not place.value.words
    return metric_of(phase, "tok/s") if is_of_row and is_speed and names_side_alone(phase) else None


def _is_alike(place: Place, words_between: str) -> bool:
    """Return whether a number without a metric of its own may be one more of the former's."""
    is_plain = not place.value.words and place.value.bound != "min"
    if place.value.unit == "tok/s" and _OTHER_SPEED.search(place.before):
        return False  # 'prefill runs at 300 tok/s, testing gives 10 tok/s'
    return is_plain and not _WHOLE.search(place.before) and ": " not in words_between  # of another thing


def _is_no_result(place: Place, sentence: str) -> bool:
    """Return whether a number is a rate of load, a part of a sum, a change, a condition, or was not measured."""
    unit, words = place.value.unit, f"{place.before} {place.after}"
    is_of_load = unit == "requests/s" and not _SERVED.search(words)
    is_summed = unit in ("ms", "s") and (place.after.lstrip()[:1] == "+" or " + " in place.before)
    is_change = unit in ("%", "ms", "s") and (
        place.before.endswith(("+", "−")) or _COMPARATIVE.match(place.after) is not None
    )
    is_change = is_change or (unit == "%" and _CHANGE_BEHIND.match(place.after) is not None)
    is_condition = place.value.words != "" and _AT.search(place.before) is not None  # 'throughput at 40 tok/s/user'
    is_nothing = place.value.low == 0 and place.value.high is None and unit in ("tok/s", "ms", "s")
    is_limit = _LIMIT_BEHIND.match(place.after) is not None  # '60 requests per minute limit'
    is_class = place.value.bound is not None and _CLASS.search(place.before) is not None
    is_class = is_class or _PROJECTED.search(sentence[: place.start]) is not None
    is_other = is_nothing or is_class or is_of_load or is_summed or is_change or is_condition or is_limit
    return is_other or is_unmeasured(place.before, place.value.bound, sentence, place.end, place.clause_end)


def _as_rate(place: Place) -> Place:
    """Return a number of tokens that its words call a rate as one per second: 'eval rate 14.6 toks'."""
    is_rate = place.value.unit == "tokens" and _RATE.search(place.before)
    return place._replace(value=place.value._replace(unit="tok/s")) if is_rate else place


def _of_unit(name: MetricName, unit: str | None) -> MetricName:
    """Return a metric of the former number for another unit of time."""
    seconds = 1.0 if name.metric.endswith("_s") else 1e3
    return name._replace(factor={"s": seconds, "ms": seconds / 1e3}[unit]) if unit in ("s", "ms") else name


def _metric_of(place: Place, sentence: str) -> MetricName | None:
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
    if unit == "tok/s" and _EACH.match(place.after) and _STREAMS.search(sentence):
        name = MetricName("decode_tps") if name in (None, MetricName("output_tps")) else name
    if name is None and unit in ("ms", "s"):
        takes = ((_PREFILL_TAKES, "prompt_ms"), (_DECODE_TAKES, "decode_ms"))
        metric = next((metric for pattern, metric in takes if pattern.search(place.before)), None)
        return MetricName(metric, 1.0 if unit == "ms" else 1e3) if metric else None
    is_known = name is not None and (unit in ("tok/s", "requests/s") or name.metric in _SPEED_OF_TOKENS)
    return name if is_known else None
