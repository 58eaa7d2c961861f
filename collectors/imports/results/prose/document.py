"""Reads published texts: Markdown tables, columns pasted without bars, 'name: number' lines, printed benchmarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.looks import looks_of
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose import benchy_table, five_prompts, llama_tables, lm_eval_table, spec_bench_table
from collectors.imports.results.prose.figure_lines import SETTING, Figure, read_figure_lines
from collectors.imports.results.prose.line_marks import without_line_marks
from collectors.imports.results.prose.metric_names import (
    ACCURACY,
    CONCURRENCY_HEAD,
    DERIVED,
    OUTPUT_HEAD,
    PER_GPU,
    PROMPT_HEAD,
    MetricName,
    metric_of,
    own_metric_of,
    statistic_of,
    without_workload,
)
from collectors.imports.results.prose.number_text import (
    NUMBER,
    StatedNumber,
    parse_number,
    read_cell,
    read_parts,
    read_statistics,
)
from collectors.imports.results.prose.sentences import read_sentences, states_speed
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD, read_settings
from collectors.imports.results.prose.statistic_lines import StatisticLine, read_statistic_lines
from collectors.imports.results.prose.tables import RULE, Table, read_aligned_tables, read_flattened_tables, read_tables
from collectors.imports.results.prose.units import implied_unit, in_words, test_unit, unit_in
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import (
    evalplus,
    guidellm_summary,
    guidellm_tables,
    llama_speculative,
    mlx_lm,
    offline_bench,
    ollama,
    one_batch,
    perf_console,
    printed_serving,
    serving,
    sglang_eval,
)
from load_records import Result
from reasons import Code, Reason


class PrintedReader(Protocol):
    """Interface of a module that reads what a tool prints, wherever it stands in a text."""

    def has_printed(self, content: str) -> bool:
        """Return whether a text contains what the tool prints."""
        ...

    def read_printed(self, content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
        """Return the loads of a text, and the text with their lines left empty."""
        ...


PRINTED: tuple[PrintedReader, ...] = (
    printed_serving, serving, offline_bench, one_batch, ollama, mlx_lm, lm_eval_table, evalplus, sglang_eval,
    perf_console, guidellm_tables, guidellm_summary, llama_speculative,
)  # fmt: skip
TOOL = "document"
PASSED, NOT_PASSED = "✅", "❌"
LINE = re.compile(
    rf"(?P<label>[^:=|`\"]{{2,70}}?)`?[:=]`?[ \n]{{0,2}}`?(?:{NUMBER})(?! ?(?:→|->|=>|vs\b|/ ?\d))", re.IGNORECASE
)  # compared numbers are read as a sentence
BARE_NUMBERS = re.compile(r"(?P<label>\S.{1,80}?)(?P<values>(?:[ \t]+(?:\d[\d,]*(?:\.\d+)?)\*?){2,12})", re.ASCII)
UNIT = re.compile(rf"{NUMBER}", re.IGNORECASE)
AT_ONCE = re.compile(
    r"c=(\d{1,6})|[(@]c(\d{1,6})\b|(\d{1,6}) \(?(?:concurrent|serial|sequential|parallel)\b", re.IGNORECASE
)
FAILED = re.compile(r"(?:FAIL(?:ED)?|OOM|ERROR|TIMEOUT|CRASH(?:ED)?|DNF)\b.{0,60}", re.IGNORECASE)
NO_VALUE = ("", "-", "–", "—", "n/a", "N/A")
SETTINGS = re.compile(r"(?:^|\s)--\w|\w=\w")
LEVEL = re.compile(r"(?:[×x]|c ?=? ?)?(?P<level>\d{1,9})[×x]?", re.IGNORECASE)
LEVEL_HEAD = re.compile(
    r"(?:[A-Za-z]{1,8} )?[A-Za-z@=×-]{0,6}\d[\w.,/@=+×-]{0,30}(?: \([^()]{1,30}\))?"
)  # 'p512', 'c=8', '1k/1k', 'Full p131071'
COMPARED_HEAD = re.compile(
    r"(?:before|after|base(?:line)?|main|master|(?:this |the )?pr|old|new|patched|default|off|on|stock|upstream|vanilla"
    r"|(?:with|without|w/o?) .{1,40})(?: \([^()]{1,30}\))?",
    re.IGNORECASE,
)
MAX_NAME_CHARS = 200
MAX_CHARS = 4_000_000


def recognise(head: str) -> bool:
    """Return whether a text contains a table, a printed benchmark, columns of numbers, or a line with a result."""
    unmarked = without_line_marks(head)
    return (
        has_table(unmarked)
        or has_benchmark(unmarked)
        or any(_is_result(match) for match in LINE.finditer(unmarked))
        or bool(read_figure_lines(unmarked)[0])
        or states_speed(unmarked)
    )


def has_table(head: str) -> bool:
    """Return whether a text contains a table, a printed benchmark, or columns of numbers with units."""
    lines = head.splitlines()[:2000]
    has_rule = any(len(line) < 4096 and "|" in line and RULE.fullmatch(line) for line in lines)
    has_rule = has_rule or bool(read_tables("\n".join(line[:4096] for line in lines))[0])
    has_rule = has_rule or bool(read_aligned_tables("\n".join(lines), _has_unit)[0])
    has_rule = has_rule or bool(read_flattened_tables("\n".join(lines), _has_unit)[0])
    has_rule = has_rule or bool(read_statistic_lines("\n".join(lines))[0])
    return has_rule or five_prompts.recognise(head) or sum(aligned(line) is not None for line in lines) >= 3


def has_benchmark(head: str) -> bool:
    """Return whether a text contains a table or a summary that only a benchmark tool prints."""
    return (
        any(reader.has_printed(head) for reader in PRINTED)
        or llama_tables.has_printed_table(head)
        or benchy_table.has_printed_table(head)
    )


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a text; raises ImportRefusedError if it has none."""
    text = without_line_marks(source.text())
    if len(text) > MAX_CHARS:
        raise ImportRefusedError(
            f"{source.name} is longer than the limit of {MAX_CHARS:,} characters for published texts."
        )
    summaries: list[LoadBuilder] = []
    text_between = text
    for reader in PRINTED:
        loads_of_tool, text_between = reader.read_printed(text_between, ticket, 3 + len(summaries))
        summaries += loads_of_tool
    tables, remaining_text = read_tables(text_between)
    aligned_tables, remaining_text = read_aligned_tables(remaining_text, _has_unit)
    flattened_tables, remaining_text = read_flattened_tables(remaining_text, _has_unit)
    benchy = [table for table in tables if benchy_table.is_benchy(table)]
    llama = [table for table in tables if llama_tables.is_printed_table(table)]
    speculated = [table for table in tables if spec_bench_table.is_spec_bench(table)]
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    other_tables = [table for table in tables if table not in (*benchy, *llama, *speculated)]
    for table in _told_apart(other_tables):
        _add_table(load, table)
    for table in (*aligned_tables, *flattened_tables):
        _add_table(load, table)
    if five_prompts.recognise(remaining_text):
        printed_load, remaining_text = five_prompts.read(remaining_text, ticket, 2), ""
    else:
        printed_load = None
    remaining_text = benchy_table.without_probe(remaining_text)
    statistic_lines, remaining_text = read_statistic_lines(remaining_text)
    for statistic_line in statistic_lines:
        _add_statistic_line(load, statistic_line)
    figures, remaining_text = read_figure_lines(remaining_text)
    stored_values: set[tuple[str, str, float]] = set()  # a p50 beside an equal median is the same value
    for figure in figures:
        _add_figure(load, figure, stored_values)
    remaining_text = _add_aligned(load, remaining_text)
    remaining_text = _add_lines(load, remaining_text)
    _add_statements(load, remaining_text)
    _add_settings(load, text, _models_in((*other_tables, *aligned_tables, *flattened_tables)))
    candidates = [load, benchy_table.read(benchy, text, ticket, 1) if benchy else None, printed_load]
    if speculated:
        summaries.append(spec_bench_table.read(speculated, text, ticket, 3 + len(summaries)))
    candidates += [*summaries, *llama_tables.read(llama, text, ticket, 3 + len(summaries))]
    loads = [load for load in candidates if load and load.rows]
    if not loads:
        raise ImportRefusedError(
            f"{source.name} looks like {looks_of(source)}. It has no table and no line with a result that is read: a "
            "figure with its unit, as in 'Decode: 95.9 tok/s', or what a known benchmark tool prints."
        )
    return loads


def _add_settings(load: LoadBuilder, text: str, models_in_tables: Sequence[str]) -> None:
    """Add what the words of the text state of the server that was measured."""
    settings = read_settings(text, models_in_tables)
    load.model = settings.model
    load.params |= {"engine": settings.engine} if settings.engine else {}
    load.server_config |= {"tensor_parallel": settings.tensor_parallel} if settings.tensor_parallel else {}
    load.notes += [settings.sentence] if settings.sentence else []


def _models_in(tables: Sequence[Table]) -> list[str]:
    """Return the cells of the columns 'Model'."""
    return [
        cell
        for table in tables
        for row in table.rows
        for head, cell in zip(table.heads, row, strict=False)
        if head.strip("*` ").lower() == "model"
    ]


def _has_unit(head: str) -> bool:
    return unit_in(head) is not None


# --- Markdown tables --------------------------------------------------------------------------------------------------
def _add_table(load: LoadBuilder, table: Table) -> None:
    title = "" if SETTINGS.search(table.title) else table.title  # a line of settings names no metric
    for row_number, row in enumerate(table.rows):
        line = table.line_of(row_number)
        if any(cell.startswith((PASSED, NOT_PASSED)) for cell in row):
            _add_check(load, table.heads, row)
            continue
        label = row[0]
        for column, cell in enumerate(row[1:], 1):
            column_name = table.heads[column] if column < len(table.heads) else f"column {column + 1}"
            if DERIVED.search(f"{label} {column_name}"):
                continue
            value = read_cell(cell)
            point = _point(table, row, column, line)
            if value:
                _add_number(load, value, point, label, column_name, title)
            elif FAILED.fullmatch(cell.strip("*`")):
                _add_failure(load, cell.strip("*`"), point, label, column_name)
            statistics = read_statistics(cell) if value is None else []
            for statistic, stated_value in statistics:
                _add_number(load, stated_value, point, label, column_name, title, statistic)
            for name, stated_value in read_parts(cell) if value is None and not statistics else []:
                part = point._replace(name=f"{point.name}, {name}") if name else point
                is_metric = metric_of(name, stated_value.unit) is not None  # then no other word of the row changes it
                words = ("", name) if is_metric else (label, f"{name} {column_name}")
                _add_number(load, stated_value, part, *words, title)


def _told_apart(tables: Sequence[Table]) -> Sequence[Table]:
    """Return the tables; their headings are left out if there is only one, which tells nothing apart."""
    if len({table.heading for table in tables}) > 1:
        return tables
    return [table._replace(heading="") for table in tables]


def _add_check(load: LoadBuilder, heads: Sequence[str], row: Sequence[str]) -> None:
    cells = dict(zip((head.lower() for head in heads), row, strict=False))
    result = next(cell for cell in row if cell.startswith((PASSED, NOT_PASSED)))
    is_pass = result.startswith(PASSED)
    mode = "streaming" if cells.get("streaming", "").lower() == "yes" else "whole" if "streaming" in cells else STATED
    load.check(suite="as published", case_name=row[0][:MAX_NAME_CHARS], mode=mode, is_pass=is_pass,
               why=None if is_pass else result[1:].strip() or "not told",
               exchange={"said": result[1:].strip()[:500]})  # fmt: skip


def _name(table: Table, row: Sequence[str], column: int, line: int) -> str:
    """Return a row's texts and its column name, with the line, since several tables may have the same names."""
    heads = table.heads
    texts = [cell for n, cell in enumerate(row) if n != column and cell and (n == 0 or _is_name(table, row, n))]
    column_name = heads[column] if column < len(heads) else ""
    if column_name and heads.count(column_name) > 1:
        column_name = f"{column_name} (column {column + 1})"
    row_name = ", ".join(texts)[: MAX_NAME_CHARS // 2] + (
        f": {column_name[: MAX_NAME_CHARS // 2]}" if column_name and column_name != "Value" else ""
    )
    return f"{row_name} (line {line})"


def _is_name(table: Table, row: Sequence[str], column: int) -> bool:
    """Return whether a cell names the measurement: it is neither a number with a unit nor a derived value."""
    value = read_cell(row[column])
    column_name = table.heads[column] if column < len(table.heads) else ""
    cell = row[column]
    has_several = bool(read_statistics(cell)) or (value is None and bool(read_parts(cell)))
    is_other = cell in NO_VALUE or FAILED.fullmatch(cell.strip("*`")) is not None or has_several
    has_metric = value is not None and (
        value.unit or _unit_of(column_name, row[0], table.title) or metric_of(f"{column_name} {row[0]}", None)
    )
    return not (DERIVED.search(column_name) or is_other or has_metric)


def _point(table: Table, row: Sequence[str], column: int, line: int) -> MeasurementPoint:
    """Return the point of a cell: its names, and the level and lengths that other columns of its row state."""
    column_name = table.heads[column] if column < len(table.heads) else ""
    lengths = [_level(table, row, head) for head in (PROMPT_HEAD, OUTPUT_HEAD)]
    heading = f"{table.heading}: " if table.heading else ""
    name = f"{heading}{_name(table, row, column, line)}"
    return MeasurementPoint(name, _at_once(table, row, column_name), *lengths)


def _at_once(table: Table, row: Sequence[str], column_name: str) -> int | None:
    level = _level(table, row, CONCURRENCY_HEAD)
    match = AT_ONCE.search(f"{row[0]} {column_name}")
    return level if level is not None else int(match[1] or match[2] or match[3]) if match else None


def _level(table: Table, row: Sequence[str], head_of_level: re.Pattern[str]) -> int | None:
    """Return the number in the column with such a head: '4', '×4', '**c=4**'."""
    columns = [index for index, head in enumerate(table.heads) if head_of_level.fullmatch(head.strip("*` "))]
    cell = row[columns[0]].strip("*` ") if columns and columns[0] < len(row) else ""
    match = LEVEL.fullmatch(cell)
    return int(match["level"]) if match else None


def _add_number(
    load: LoadBuilder, value: StatedNumber, point: MeasurementPoint, label: str, column_name: str, title: str = "",
    cell_statistic: str | None = None,
) -> None:  # fmt: skip
    """Add a number, identified by its row, its column or the title of its table, in this order.

    `cell_statistic`: the statistic that its cell names.
    """
    unit = value.unit or _unit_of(column_name, label, title)
    if unit == "%" and ACCURACY.search(f"{column_name} {label}"):
        _add_share(load, value, label, column_name)
        return
    column_name, label = without_workload(in_words(column_name), in_words(label), unit_in(label) is None)
    description = f"{column_name} {label} {value.words}"
    if metric_name := (
        own_metric_of(value.words, unit)
        or own_metric_of(column_name, unit)
        or _metric_of(description, value, unit)
        or _metric_of_title(title, description, unit)
    ):
        statistic = cell_statistic or statistic_of(description, value.bound, metric_name.metric)
        _add_stated(load, point, value, metric_name.metric, metric_name.factor, None, statistic)
    elif unit is not None:  # else a setting or an unknown count
        statistic = cell_statistic or statistic_of(description, value.bound)
        _add_stated(load, point, value, STATED, 1.0, unit, statistic)


def _metric_of(description: str, value: StatedNumber, unit: str | None) -> MetricName | None:
    """Return the metric of a number; a rate above 1 is in per cent, with or without its sign."""
    metric_name = metric_of(description, unit)
    is_percent = metric_name is not None and metric_name.metric == "acceptance_rate" and not unit and value.low > 1
    return metric_of(description, "%") if is_percent else metric_name


def _unit_of(column_name: str, label: str, title: str) -> str | None:
    """Return the unit that a column or row states; of levels and engines that of the line above their table.

    'Decode (tok/s)' above the columns 'p512' and 'vLLM' is the unit of their numbers, but not of a column 'Requests'.
    """
    head = column_name.strip("*` ")
    is_of_title = any(pattern.fullmatch(head) for pattern in (LEVEL_HEAD, ENGINE_HEAD, COMPARED_HEAD))
    stated_unit = unit_in(column_name) or unit_in(label) or (unit_in(title) if is_of_title else None)
    implied = implied_unit(column_name) or implied_unit(label)
    return stated_unit or implied or (test_unit(title) if is_of_title else None)


def _metric_of_title(title: str, description: str, unit: str | None) -> MetricName | None:
    """Return the metric that the line above a table names; a number of one GPU is none of the whole server."""
    return None if unit is None or PER_GPU.search(description) else metric_of(title, unit)


def _add_failure(load: LoadBuilder, cell: str, point: MeasurementPoint, label: str, column_name: str) -> None:
    """Add a metric without a value, since its measurement failed: 'OOM', 'FAIL'."""
    description, unit = f"{column_name} {label}", unit_in(column_name) or unit_in(label)
    if unit and (metric_name := metric_of(description, unit)):
        load.result(point, metric_name.metric, statistic_of(description, None, metric_name.metric), cell)


def _add_stated(
    load: LoadBuilder,
    point: MeasurementPoint,
    value: StatedNumber,
    metric: str,
    factor: float,
    unit: str | None,
    statistic: str,
) -> None:
    """Add a number or the two ends of a range."""
    reasons = [Reason(Code.STATED_AS_ABOUT)] if value.is_approximate else []
    if value.spread is not None:
        reasons.append(Reason(Code.SPREAD_COUNT_NOT_TOLD, values={"spread": f"{value.spread:g}"}))
    ends = {"mean" if value.spread is not None else statistic: value.low}
    if value.high is not None:
        low, high = sorted((value.low, value.high))  # 'from 45 to 30 tok/s'
        ends, reasons = {"min": low, "max": high}, [Reason(Code.STATED_AS_RANGE), *reasons]
    for end_statistic, end in ends.items():
        load.result(point, metric, end_statistic, round(end * factor, 9), unit=unit, reasons=reasons)


def _add_share(load: LoadBuilder, value: StatedNumber, label: str, column_name: str) -> None:
    task, subject = (column_name, label) if ACCURACY.search(column_name) else (label, column_name)
    share = round(value.low / 100, 9) if value.low <= 100 else None
    load.accuracy(
        task=f"{task}: {subject}"[:MAX_NAME_CHARS], filter="none", metric="accuracy", value=share,
        reason=Reason(Code.SHARE_ABOVE_ONE if share is None else Code.ITEM_COUNT_NOT_TOLD),
    )  # fmt: skip


def _add_statistic_line(load: LoadBuilder, line: StatisticLine) -> None:
    point = MeasurementPoint(f"{line.label} (line {line.number})")
    for statistic, value in line.values:
        unit = value.unit or line.unit
        metric_name = metric_of(line.label, unit) or MetricName(STATED)
        stated_unit = unit if metric_name.metric == STATED else None
        _add_stated(load, point, value, metric_name.metric, metric_name.factor, stated_unit, statistic)


def _add_figure(load: LoadBuilder, figure: Figure, stored_values: set[tuple[str, str, float]]) -> None:
    """Add a figure of a passage unless it is in `stored_values`; a count or a setting without a unit is a parameter."""
    if DERIVED.search(figure.label):
        return
    name = f"{figure.passage} {figure.label}".strip()
    metric_name = _metric_of(figure.label, figure.value, figure.unit)
    if metric_name is None and figure.unit is None:
        load.params[f"{name} (line {figure.line})"] = figure.value.low
        return
    metric_name = metric_name or MetricName(STATED)
    unit = figure.unit if metric_name.metric == STATED else None
    statistic = statistic_of(name, figure.value.bound, metric_name.metric)
    point = MeasurementPoint(f"{name[:MAX_NAME_CHARS]} (line {figure.line})")
    identity = (metric_name.metric, statistic, figure.value.low)
    if statistic == "median" and metric_name.metric != STATED and identity in stored_values:
        return
    stored_values.add(identity)
    _add_stated(load, point, figure.value, metric_name.metric, metric_name.factor, unit, statistic)


# --- columns without bars ---------------------------------------------------------------------------------------------
def aligned(line: str) -> tuple[str, list[StatedNumber]] | None:
    """Return label and numbers (all with units) of a row that lost its bars; None for any other line."""
    if len(line) > 400 or "|" in line:
        return None
    if (match := BARE_NUMBERS.fullmatch(line.strip())) and unit_in(match["label"]):
        cells = [read_cell(cell.rstrip("*")) for cell in match["values"].split()]
        return match["label"], [value for value in cells if value]
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


def _add_aligned(load: LoadBuilder, text: str) -> str:
    """Add the numbers of such rows, and return the text with them left empty."""
    heading, lines = "", text.splitlines()
    for number, line in enumerate(lines, 1):
        row = aligned(line)
        if row is None:
            heading = line.strip() or heading
            continue
        lines[number - 1] = ""
        label, values = row
        for column, value in enumerate(values, 1):
            column_name = f"column {column} of {len(values)}"
            _add_number(
                load,
                value,
                MeasurementPoint(f"{label}: {column_name} ({heading[:80]}; line {number})"),
                label,
                column_name,
            )
    return "\n".join(lines)


# --- 'name: number' lines ---------------------------------------------------------------------------------------------
def _is_result(match: re.Match[str]) -> bool:
    """Whether a 'name: number' line states a metric that Pitwall knows."""
    value = parse_number(match)
    label = _label(match["label"], value)
    is_setting = value.unit is None and SETTING.fullmatch(label) is not None
    has_metric = _metric_of(label, value, value.unit or _unit_of_label(label)) is not None
    return has_metric and not is_setting and not DERIVED.search(label)


def _add_lines(load: LoadBuilder, text: str) -> str:
    """Add the results of such lines, and return the text without them."""
    line, counted_end, other_texts = 1, 0, []
    for match in LINE.finditer(text):
        line, last_end = line + text.count("\n", counted_end, match.end()), counted_end
        counted_end = match.end()
        value = parse_number(match)
        label = _label(match["label"], value)
        metric_name = _metric_of(label, value, value.unit or _unit_of_label(label))
        is_result = metric_name is not None and _is_result(match)
        other_texts.append(text[last_end : match.start() if is_result else match.end()])
        if metric_name and is_result:
            other_texts.append("\n" * match[0].count("\n"))
            point = MeasurementPoint(f"{label[:MAX_NAME_CHARS]} (line {line})")
            statistic = statistic_of(label, value.bound, metric_name.metric)
            _add_stated(load, point, value, metric_name.metric, metric_name.factor, None, statistic)
    return "".join([*other_texts, text[counted_end:]])


def _add_statements(load: LoadBuilder, text: str) -> None:
    """Add the figures of running text; those that repeat a value of a table or a line are left out."""
    stored_values = {(row.metric, row.value) for row in load.rows if isinstance(row, Result)}
    for statement in read_sentences(text):
        metric, factor = statement.metric_name
        if (metric, round(statement.value.low * factor, 9)) not in stored_values:
            name = f"{statement.words[:MAX_NAME_CHARS]} (line {statement.line})"
            point = MeasurementPoint(name, statement.concurrency)
            unit = statement.value.unit if metric == STATED else None
            _add_stated(load, point, statement.value, metric, factor, unit, statement.statistic)


def _unit_of_label(label: str) -> str | None:
    """Return the unit that a label states on the number's line: 'Prefill tok/s: 13'; none beside another number."""
    line = label.rsplit("\n", 1)[-1]
    return None if any(map(str.isdigit, line)) else unit_in(line)


def _label(before: str, value: StatedNumber) -> str:
    """Return the words that name a number: those of its line, or of the whole sentence if these name no metric."""
    sentence = re.split(r"[.。!?]\s|\n\s*\n", before)[-1]
    line = sentence.rsplit("\n", 1)[-1].strip(" -*•`")
    return line if metric_of(line, value.unit or _unit_of_label(line)) else " ".join(sentence.split()).strip(" -*•`")
