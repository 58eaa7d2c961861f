"""Adds the figures of lines to a load: rows without bars, 'name: number' lines, summaries, sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.figure_lines import SETTING, Figure
from collectors.imports.results.prose.figure_marks import BULLET, FIGURE
from collectors.imports.results.prose.heads import count_metric
from collectors.imports.results.prose.led_lines import statistic_of_lead
from collectors.imports.results.prose.listed_names import listed_names
from collectors.imports.results.prose.metric_names import (
    ACCURACY,
    AIMED_AT,
    DERIVED,
    MetricName,
    metric_of,
    names_arm_at_peak,
    statistic_of,
)
from collectors.imports.results.prose.number_text import NUMBER, StatedNumber, parse_number, read_cell
from collectors.imports.results.prose.repeated_statements import repeated_statements
from collectors.imports.results.prose.repeated_values import StoredValues, rounds_to
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.sentences import Statement, read_sentences
from collectors.imports.results.prose.stated_figures import (
    COMPARED_HEAD,
    MAX_NAME_CHARS,
    add_number,
    add_share,
    add_stated,
    metric_of_number,
)
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.statistic_lines import StatisticLine
from collectors.imports.results.prose.units import in_words, may_have_figure, unit_in
from collectors.imports.results.prose.unmeasured import is_published
from load_records import Result

VALUE = re.compile(
    rf"(?:`?[:=]`?[ \n]{{0,2}}`?|= ?\*\*|(?<=[a-z]\)),(?=\d))(?:{NUMBER})"
    rf"(?! ?(?:@ ?[\w. ]{{1,16}})?(?:→|-{{1,2}}>|=>|vs\b|[/*×] ?\w))",
    re.IGNORECASE,
)  # compared numbers are read as a sentence
SECOND_VALUE = re.compile(
    rf"[`*]{{0,3}}(?:,| and| /) [`*]{{0,3}}(?:{NUMBER})(?=[`*]{{0,3}}(?:[\n.;)]|, |$))", re.IGNORECASE
)
NO_LABEL = re.compile(r"[:=|`\"]")
MIN_LABEL_CHARS, MAX_LABEL_CHARS = 2, 70
BARE_NUMBERS = re.compile(r"(?P<label>\S.{1,80}?)(?P<values>(?:[ \t]+(?:\d[\d,]*(?:\.\d+)?)\*?){2,12})", re.ASCII)
IN_BRACKETS, LEAST_HEADS = re.compile(r"\([^()\d]{1,20}\)"), 2  # of a table on one line
RULE_BELOW = re.compile(r"\s{0,12}[-=─]{3,400}\s{0,12}")
HEADS = re.compile(r"\s{2,200}|\t")
ARROW = re.compile(r"→|->|=>")  # between figures of one sentence
LEAD = re.compile(r"\s{0,12}(?:[-*•] |\d{1,2}[.)] )(?P<words>[^,:(\[]{1,40})[,:(\[]")
CODE_LEAD = re.compile(  # of an item: '`serve -O3`: 4 req/s'
    r"\s{0,12}(?:[-*•] |\d{1,2}[.)] )`(?P<words>[^`]{1,120})`[^:`]{0,40}:"
)
LEAD_OF_LINE = re.compile(r"\s{0,12}(?P<words>[\w\[][^,:(]{1,60}): ")
FIRST_LABEL = re.compile(r"[^:,]{1,80}: {1,4}[~≈`*]{0,4}\d")
VARIABLE = re.compile(r"[A-Za-z]\w{0,60}")  # 'ttft_p99_ms'
UNIT = re.compile(rf"{NUMBER}", re.IGNORECASE)
NAMED_FIGURE = re.compile(rf"\s{{0,12}}(?P<name>[A-Za-z][A-Za-z ]{{1,60}})[:=]\s{{0,60}}(?:{NUMBER})\s*", re.IGNORECASE)
_LENGTH = re.compile(  # of a prompt or an answer: a setting of the load
    r"(?:input|output|prompt|completion|context)(?: (?:prompt|tokens?|length|len|size))?", re.IGNORECASE
)
ACCEPTANCE = "acceptance_rate"
LEAST_LINES_OF_SERIES = 2
MOST_IN_NOTE = 12
SENTENCE_END, MAX_SENTENCE_CHARS = re.compile(r"[.!?]\s+(?=[A-Z])"), 400
DECIMAL = re.compile(r"(?<![\w.,])\d{1,9}\.\d{1,3}(?![\w.,%])")
LEAST_NUMBERS_OF_ROW, MOST_NUMBERS = 4, 1_000


def add_statistic_line(load: LoadBuilder, line: StatisticLine, sections: Sections) -> None:
    name = f"{sections.prefix_of(line.number)}{line.label} (line {line.number})"
    point = point_of_words(name, name, sections.level_of(line.number))
    for statistic, value in line.values:
        unit = value.unit or line.unit
        metric_name = metric_of(line.label, unit) or MetricName(STATED)
        stated_unit = unit if metric_name.metric == STATED else None
        add_stated(load, point, value, metric_name.metric, metric_name.factor, stated_unit, statistic)


def add_figure(
    load: LoadBuilder, figure: Figure, stored_values: set[tuple[str, str, float]], sections: Sections
) -> None:
    """Add a figure of a passage unless it is in `stored_values`; a count or a setting without a unit is a parameter."""
    if DERIVED.search(figure.label) or AIMED_AT.search(figure.label):
        return
    prefix = sections.prefix_of(figure.line)
    prefix = prefix if figure.heading in prefix else f"{prefix}{figure.heading}: "
    name = f"{prefix}{f'{figure.passage} {figure.label}'.strip()}"
    metric_name = metric_of_number(figure.words, figure.value, figure.unit)
    if metric_name and metric_name.metric == "duration_s":  # 'elapsed' behind 'Load weight end.'
        metric_name = metric_of_number(f"{figure.passage} {figure.words}", figure.value, figure.unit)
    if metric_name is None and (metric := count_metric(figure.value, "", figure.label)) is not None:
        metric_name = MetricName(metric)
    is_length = figure.unit == "tokens" and _LENGTH.fullmatch(figure.label.strip("*` ")) is not None
    if metric_name is None and (figure.unit is None or is_length):
        load.params[f"{name} (line {figure.line})"] = figure.value.low
        return
    metric_name = metric_name or MetricName(STATED)
    unit = figure.unit if metric_name.metric == STATED else None
    statistic = statistic_of(f"{name} {figure.heading}", figure.value.bound, metric_name.metric)
    if statistic == "max" and names_arm_at_peak(figure.label, metric_name.metric):
        statistic = figure.value.bound or STATED
    point = point_of_words(f"{name[:MAX_NAME_CHARS]} (line {figure.line})", name, sections.level_of(figure.line))
    identity = (metric_name.metric, statistic, figure.value.low)
    if statistic == "median" and metric_name.metric != STATED and identity in stored_values:
        return
    stored_values.add(identity)
    add_stated(load, point, figure.value, metric_name.metric, metric_name.factor, unit, statistic)


def aligned(line: str) -> tuple[str, list[StatedNumber]] | None:
    """Return label and numbers (all with units) of a row that lost its bars; None for any other line."""
    if len(line) > 400 or "|" in line or not line[-3:].strip():
        return None
    is_bare = line.rstrip()[-1:].isdigit() or line.rstrip()[-1:] == "*"
    match = BARE_NUMBERS.fullmatch(line.strip()) if is_bare else None
    if match and unit_in(match["label"]) and len(IN_BRACKETS.findall(match["label"])) < LEAST_HEADS:
        cells = [read_cell(cell.rstrip("*")) for cell in match["values"].split()]
        return match["label"], [value for value in cells if value]
    if not may_have_figure(line):
        return None
    bare = re.sub(r" \([^()]{1,80}\)$", "", line.strip())
    matches = list(UNIT.finditer(bare))
    values: list[StatedNumber] = []
    end = len(bare)
    for match in reversed(matches):
        if bare[match.end() : end].strip() or match["unit"] is None:
            break
        values.insert(0, parse_number(match))
        end = match.start()
    label = bare[:end].strip()
    return (label, values) if len(values) > 1 and label and not label.endswith((":", "=", ",")) else None


def add_aligned(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the numbers of such rows, and return the text with them left empty."""
    heading, heads, lines = "", [""], text.splitlines()
    for number, line in enumerate(lines, 1):
        row = aligned(line)
        if row is None:
            is_rule = RULE_BELOW.fullmatch(line) is not None
            heading = heading if is_rule else line.strip() or heading
            heads = heads if is_rule or not line.strip() else HEADS.split(line.strip())
            continue
        lines[number - 1] = ""
        label, values = row
        names, heading_around = _names_at_end(heading, len(values))
        column_heads = names or heads
        has_heads = len(column_heads) == len(values) and not any(map(read_cell, column_heads))
        around = f"{heading_around[:80]}; " if (names and heading_around) or not has_heads else ""
        for column, value in enumerate(values, 1):
            column_name = f"column {column} of {len(values)}"
            place = f"{column_heads[column - 1] if has_heads else column_name} ({around}"
            name = f"{sections.prefix_of(number)}{label}: {place}line {number})"
            head = column_heads[column - 1] if has_heads else column_name
            point = point_of_words(name, heading_around) if names else MeasurementPoint(name)
            add_number(load, value, point, label, head)
    return "\n".join(lines)


def _names_at_end(heading: str, count: int) -> tuple[list[str], str]:
    """Return the names of arms that a line ends with, one for each of `count` columns, and the words before them.

    'N = 10 queries vLLM SGLang' stands above the values of two engines.
    """
    words = heading.split()
    names = words[-count:]
    is_of_arms = len(names) == count and len({*map(str.lower, names)}) == count and all(map(_names_arm, names))
    return (names, " ".join(words[:-count])) if is_of_arms else ([], heading)


def _names_arm(word: str) -> bool:
    return ENGINE_HEAD.fullmatch(word) is not None or COMPARED_HEAD.fullmatch(word) is not None


class LabelledNumber(NamedTuple):
    """A number behind a colon or an equals sign, the words before it, and where both stand."""

    before: str
    value: StatedNumber
    start: int
    end: int

    @property
    def label(self) -> str:
        """The words that name the number."""
        return _label(self.before, self.value)

    @property
    def label_start(self) -> int:
        """Where the words that name the number begin; the lines above them are another text."""
        above, _, last_line = self.before.rpartition("\n")
        return self.start + (len(above) + 1 if above and self.label in last_line else 0)

    @property
    def metric_name(self) -> MetricName | None:
        """The metric of a result; None for a setting, a derived value or a number of no known metric."""
        label = self.label
        names = (label, in_words(label))
        is_aim = any(map(AIMED_AT.search, names)) and "goodput" not in label.lower()  # what met its aim was measured
        is_first = bool(listed_names(f"{label}:"))  # of several figures
        is_condition = self.value.unit is None and FIGURE.search(label) is not None  # '85% at k=3'
        is_other = (
            is_condition
            or is_aim
            or is_first
            or SETTING.fullmatch(label)
            or DERIVED.search(label)
            or ARROW.search(label)
        )
        unit = self.value.unit or _unit_of_label(label)
        metric_names = (metric_of_number(name, self.value, unit) for name in names)
        return None if is_other else next(filter(None, metric_names), None)


def states_result(text: str) -> bool:
    """Return whether a 'name: number' line of a text states a metric that Pitwall knows."""
    return any(number.metric_name is not None for number in _labelled_numbers(text))


def _labelled_numbers(text: str) -> Iterator[LabelledNumber]:
    """Yield the 'name: number' passages of a text; no two share a word."""
    end = 0
    for match in VALUE.finditer(text):
        start = max(end, match.start() - MAX_LABEL_CHARS)
        if start > end and not text[start - 1].isspace():
            start = next((at for at in range(start, match.start()) if text[at].isspace()), start)  # of a whole word
        before = NO_LABEL.split(text[start : match.start()])[-1]
        if len(before) >= MIN_LABEL_CHARS:
            number = LabelledNumber(before, parse_number(match), match.start() - len(before), match.end())
            yield number
            end = match.end()
            if second := _second_number(text, number):
                yield second
                end = second.end


def _second_number(text: str, number: LabelledNumber) -> LabelledNumber | None:
    """Return the number behind another that has its label and another unit: 'model loading: 22.5 GiB and 15.5 s'."""
    match = SECOND_VALUE.match(text, number.end)
    second = LabelledNumber(number.before, parse_number(match), number.end, match.end()) if match else None
    units = {number.value.unit, second.value.unit} if second else set()
    return second if second and None not in units and len(units) == 2 and second.metric_name else None


def add_lines(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the results of such lines, and return the text without them."""
    line, counted_end, other_texts, lines = 1, 0, [], text.splitlines()
    published: list[str] = []
    for number in _labelled_numbers(text):
        line, last_end = line + text.count("\n", counted_end, number.end), counted_end
        is_of_others = is_published(_sentence_before(text, number))
        counted_end, metric_name = number.end, number.metric_name
        if is_of_others and metric_name:
            published.append(_written(number.value))
            metric_name = None
        start = number.label_start if metric_name else number.end
        other_texts.append(text[last_end:start])
        if metric_name:
            other_texts.append("\n" * text.count("\n", start, number.end))
            label = number.label
            lead = _lead_of(lines[line - 1], label)
            name = f"{sections.prefix_of(line)}{lead}{label[:MAX_NAME_CHARS]} (line {line})"
            words = in_words(label) if _unit_of_label(label) else label  # 'max_total_num_tokens' is no maximum
            statistic = statistic_of(words, number.value.bound, metric_name.metric)
            statistic = statistic_of_lead(lines[line - 1]) if statistic == STATED else statistic
            point = point_of_words(name, name, sections.level_of(line))
            add_stated(load, point, number.value, metric_name.metric, metric_name.factor, None, statistic)
        elif number.value.unit == "%" and ACCURACY.search(number.label):
            add_share(load, number.value, number.label)
    load.notes += [f"What others published was left out: {', '.join(published[:MOST_IN_NOTE])}."] if published else []
    return "".join([*other_texts, text[counted_end:]])


def _sentence_before(text: str, number: LabelledNumber) -> str:
    """Return the words of a number's line before it, from the beginning of their sentence on."""
    line_start = text.rfind("\n", 0, number.end) + 1
    return SENTENCE_END.split(text[max(line_start, number.end - MAX_SENTENCE_CHARS) : number.end])[-1]


def add_statements(load: LoadBuilder, text: str, sections: Sections, rows_of_tools: Sequence[Result]) -> None:
    """Add the figures of running text; those that repeat a value of a table, a line or a tool's print are left out."""
    stored_values = StoredValues([*(row for row in load.rows if isinstance(row, Result)), *rows_of_tools])
    lines = text.splitlines()
    statements = read_sentences(text, sections.labels_of)
    points = [_point_of(statement, sections) for statement in statements]
    lines_of_series = _lines_of_series(statements, lines, sections)
    numbers_of_rows = _numbers_of_rows(lines)
    lines_of_titles = {number for number, line in enumerate(lines, 1) if number == 1 or line.startswith("#")}
    repeats = [
        statement.line not in lines_of_series and stored_values.has(statement, point)
        for statement, point in zip(statements, points, strict=True)
    ]
    repeating_paragraphs = {
        statement.paragraph for statement, is_repeat in zip(statements, repeats, strict=True) if is_repeat
    }
    acceptances = [row.value * 100 for row in load.result_rows if row.metric == ACCEPTANCE and row.value is not None]
    acceptances += [statement.value.low for statement in statements if statement.metric_name.metric == ACCEPTANCE]
    roundings: list[str] = []
    repeats_of_text = repeated_statements(statements, points)
    for index, (statement, point) in enumerate(zip(statements, points, strict=True)):
        is_repeat = (
            stored_values.has_single(statement) if statement.line in lines_of_series
            else stored_values.has(statement, point, statement.paragraph in repeating_paragraphs)
        )  # fmt: skip
        if not is_repeat and index in repeats_of_text and statement.line not in lines_of_series:
            roundings.append(_written(statement.value))
            continue
        is_title = statement.line in lines_of_titles
        is_rounded = stored_values.has_rounded(statement) or _is_in_row(statement, numbers_of_rows)
        is_heading = lines[statement.line - 1].startswith("#")
        is_rounded = is_rounded or (is_heading and _rounds_acceptance(statement, acceptances))
        if is_repeat or (is_title and is_rounded):
            is_exact = stored_values.has_exactly(statement)
            roundings += [] if is_exact else [_written(statement.value)]
        else:
            metric, factor = statement.metric_name
            unit = statement.value.unit if metric == STATED else None
            led_by = statistic_of_lead(lines[statement.line - 1])
            statistic = led_by if statement.statistic == STATED else statement.statistic
            add_stated(load, point, statement.value, metric, factor, unit, statistic)
    load.notes += [f"What repeats a value in other words was left out: {', '.join(roundings)}."] if roundings else []


def _rounds_acceptance(statement: Statement, acceptances: Iterable[float]) -> bool:
    """Return whether an acceptance in whole per cent is another one rounded: '85%' is 85.2 %."""
    rate = statement.value.low
    is_whole = statement.metric_name.metric == ACCEPTANCE and rate.is_integer() and statement.value.high is None
    return is_whole and any(not other.is_integer() and rounds_to(round(other, 6), rate) for other in acceptances)


def _written(value: StatedNumber) -> str:
    """Return a number or a range with its unit, for a note."""
    numbers = "-".join(f"{end:.12g}" for end in (value.low, value.high) if end is not None)
    return f"{numbers} {value.unit or ''}".strip()


def _numbers_of_rows(lines: Iterable[str]) -> list[float]:
    """Return the numbers of lines that have many, as a table has that lost its cells."""
    rows = (numbers for line in lines if len(numbers := DECIMAL.findall(line)) >= LEAST_NUMBERS_OF_ROW)
    return [float(number) for number in islice(chain.from_iterable(rows), MOST_NUMBERS)]


def _is_in_row(statement: Statement, numbers: Iterable[float]) -> bool:
    """Return whether an approximate figure rounds one of such numbers."""
    return statement.value.is_approximate and any(rounds_to(number, statement.value.low) for number in numbers)


def _lines_of_series(statements: Sequence[Statement], lines: Sequence[str], sections: Sections) -> set[int]:
    """Return the lines that are one name and its figure, again and again below one heading: the single runs of a mean.

    Such a figure may be equal to the mean of all, and repeats none.
    """
    lines_by_name: dict[tuple[str, str], set[int]] = {}
    for statement in statements:
        if statement.statistic == STATED and (match := NAMED_FIGURE.fullmatch(lines[statement.line - 1])):
            key = (sections.heading_of(statement.line), match["name"].strip().lower())
            lines_by_name.setdefault(key, set()).add(statement.line)
    return {line for numbers in lines_by_name.values() if len(numbers) >= LEAST_LINES_OF_SERIES for line in numbers}


def _point_of(statement: Statement, sections: Sections) -> MeasurementPoint:
    """Return the point of a figure of running text."""
    has_label = _has_own_label(statement.paragraph, statement.words)
    lead = "" if has_label else _lead_of(statement.paragraph, statement.words)
    words = f"{sections.prefix_of(statement.line)}{lead}{statement.words[:MAX_NAME_CHARS]}"
    name = f"{words.removesuffix(': ')} (line {statement.line})"
    headings = (sections.heading_of(statement.line), sections.level_of(statement.line))
    return point_of_words(name, f"{lead}{statement.words}", statement.condition, *headings)


def _lead_of(line: str, label: str) -> str:
    """Return the words that an item of a list begins with: 'k=2' of '* k=2: TTFT: 81 ms'; empty if known."""
    match = CODE_LEAD.match(line) or LEAD.match(line) or LEAD_OF_LINE.match(line)
    lead = match["words"].strip(" *`") if match else ""
    return f"{lead}: " if lead and lead not in label and not FIGURE.search(lead) else ""


def _has_own_label(line: str, words: str) -> bool:
    """Return whether a figure of a line has a label as the first one has: 'old: 45 tok/s, with it: 60 tok/s'."""
    return FIRST_LABEL.match(line) is not None and f"{words}: " in line and not line.startswith(words)


def _unit_of_label(label: str) -> str | None:
    """Return the unit that a label states on the number's line: 'Prefill tok/s: 13'; none beside another number."""
    line = label.rsplit("\n", 1)[-1]
    has_number = any(map(str.isdigit, line)) and VARIABLE.fullmatch(line) is None
    return None if has_number else unit_in(line)


def _label(before: str, value: StatedNumber) -> str:
    """Return the words that name a number: those of its line, or of the whole sentence if these name no metric."""
    sentence = re.split(r"[.。!?]\s|\n\s*\n", before)[-1]
    last_line = sentence.rsplit("\n", 1)[-1]
    line = last_line.lstrip(")] ").strip(" -*•`,;")
    is_item = BULLET.match(last_line) is not None  # of a list, no part of the sentence before it
    return (
        line
        if is_item or metric_of(line, value.unit or _unit_of_label(line))
        else " ".join(sentence.split()).strip(" -*•`,;")
    )
