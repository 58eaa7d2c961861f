"""Adds the figures of tables to a load: each cell with a number whose row, column or title states a unit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.decoding_speeds import with_speeds_of_table
from collectors.imports.results.prose.figure_marks import FIGURE
from collectors.imports.results.prose.heads import (
    ADVICE_HEAD,
    DERIVED_HEAD,
    LENGTH_HEAD,
    LIMIT_HEAD,
    METRIC_HEAD,
    PUBLISHED_HEAD,
    SETTING_HEAD,
    UNIT_HEAD,
    count_metric,
    name_of_duration,
    names_measurement,
    plain,
    with_rates_sent,
    with_units_below,
    with_units_of_tests,
)
from collectors.imports.results.prose.metric_names import (
    AIMED_AT,
    DERIVED,
    PERCENTILE,
    metric_of,
)
from collectors.imports.results.prose.number_text import (
    MEMORY,
    StatedNumber,
    read_cell,
    read_parts,
    read_statistics,
    states_failure,
    states_figure,
    with_bracket_as_part,
)
from collectors.imports.results.prose.sentences import read_sentences
from collectors.imports.results.prose.shared_columns import (
    names_of_arms,
    names_of_parts,
    split_columns,
    split_parts,
    with_last_unit,
)
from collectors.imports.results.prose.shared_units import with_units_of_columns
from collectors.imports.results.prose.stated_figures import (
    COMPARED_HEAD,
    MAX_NAME_CHARS,
    TIMES,
    add_failure,
    add_number,
    add_stated,
    unit_of_names,
)
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.table_points import is_level_row, point_of
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import implied_unit, unit_in

PASSED, NOT_PASSED = "✅", "❌"
PREFILL_HEAD = re.compile(r"^\W*prefill\b", re.IGNORECASE)  # 'Prefill ctx' beside 'tok/s'
NOT_MEASURED = re.compile(
    r"\((?:target|goal|expected|estimated?|est\.?|theoretical|projected)\)|\binvalid\b", re.IGNORECASE
)
NOTE_HEAD = re.compile(r"(?:notes?|comments?|remarks?|caveats?|observations?)", re.IGNORECASE)
STATISTIC = re.compile(r"mean|average|avg\.?|median|min|max|best|worst|p\d{2}(?:\.\d)?", re.IGNORECASE)
NO_STATISTICS = ("count", "n", "total", "sum")
WITH_DEVIATION = re.compile(r"(?:±|\+/-) ?(?:population )?(?:std(?:ev|dev)?|sd|standard deviation)\b", re.IGNORECASE)
QUANTILE = re.compile(r"\d{1,2}(?:\.\d)?%")
SETTINGS = re.compile(r"(?:^|\s)--\w|\w=\w")
DIFFERENCE = re.compile(r"\([^()]{1,20}%\)")
PARTS_OF_CELL = re.compile(r"/| \+ | ?(?:→|-{1,2}>|⇒|➜) ?|, (?=[`*]{0,3}\d)")
_REMARK = re.compile(r" ?\((?P<remark>[^()]{1,80})\)")
_CHANGE = re.compile(  # '(1.8x faster)'
    r"\d ?[x×](?!\w)|%|\b(?:faster|slower|higher|lower|better|worse|more|less|gain|drop|speed-?up)\b", re.IGNORECASE
)
NO_UNIT = "states no unit"
MAX_LEVEL_ROWS = 20
MOST_NAMES_IN_NOTE = 8
VALUES_OF_FIRST_COLUMN = ("tok/s", "ms")


def add_table(load: LoadBuilder, table: Table) -> None:
    """Add the figures of a table."""
    table = _with_second_heads(table)
    is_statement = table.title.endswith(".") and FIGURE.search(PERCENTILE.sub("", table.title)) is not None
    is_statement |= states_figure(table.title)
    title = "" if is_statement else _without_settings(table.title)
    heads, rows = split_columns(_with_quantiles(table.heads), _with_statistics(_filled(table)), title)
    heads = with_rates_sent(heads)
    table = table._replace(heads=with_units_of_tests(heads), rows=with_units_of_columns(heads, rows))
    names = {plain(row[0]) for row in table.rows}
    level_rows = {number: row for number, row in enumerate(table.rows) if is_level_row(row, table.heads, names)}
    table = table._replace(level_rows=tuple(level_rows.values())[:MAX_LEVEL_ROWS])
    has_unit = (unit_in(title) or implied_unit(title)) is not None
    table = table._replace(title_columns=_columns_of_title(table) if has_unit else frozenset())
    times = [unit for head in table.heads if (unit := unit_in(head)) in TIMES and metric_of(head, unit)]
    table = table._replace(names_times=bool(times))
    first_column = 0 if unit_in(table.heads[0]) in VALUES_OF_FIRST_COLUMN else 1
    _note_columns_without_unit(load, table, title)
    _note_what_is_left_out(load, table)
    former_label, count_before = "", len(load.rows)
    for row_number, row in enumerate(table.rows):
        added_rows = len(load.rows)
        if row_number not in level_rows:
            label = _label(table, row)
            if STATISTIC.fullmatch(plain(label)) and unit_in(former_label):
                label = f"{label} {former_label}"  # 'median' below 'decode, 6 runs (tok/s)'
            else:
                former_label = label
            for column in range(first_column, len(row)):
                _add_cell(load, table, row_number, column, label, title)
        has_verdict = any(cell.startswith((PASSED, NOT_PASSED)) for cell in row)
        if has_verdict and len(load.rows) == added_rows:
            _add_check(load, table.heads, row)
    load.rows[count_before:] = with_speeds_of_table(load.rows[count_before:], title)


def _without_settings(title: str) -> str:
    """Return the words of a title before its settings, which name no metric; nothing if those before them do not."""
    match = SETTINGS.search(title)
    if match is None:
        return title
    words_before = title[: match.start()].rpartition(" ")[0]
    return words_before if metric_of(words_before, "tok/s") else ""


def _add_cell(load: LoadBuilder, table: Table, row_number: int, column: int, label: str, title: str) -> None:
    """Add what a cell states: a number, a failure, or several numbers."""
    row, cell = table.rows[row_number], with_bracket_as_part(table.rows[row_number][column])
    column_name = table.heads[column] if column < len(table.heads) else f"column {column + 1}"
    is_compared = _is_count_of_values(column_name, table.heads) or _is_no_measurement(column_name)
    is_compared = is_compared or _is_ratio(column_name, table.heads) or _is_no_measurement(label)
    if is_compared or UNIT_HEAD.fullmatch(column_name.strip("*` ")):
        return
    if NOT_MEASURED.search(cell):
        return
    value = read_cell(cell)
    if value is None and ADVICE_HEAD.fullmatch(plain(column_name)):
        return
    if value is None and not any(map(str.isdigit, cell)) and not states_failure(cell):
        return
    if value and value.unit is None and LENGTH_HEAD.fullmatch(plain(column_name)):
        return  # '1000' below 'Output tokens', in a row that states the unit of its own
    point = point_of(table, row, column, table.line_of(row_number), label)
    if LIMIT_HEAD.fullmatch(plain(row[0]).replace("_", " ")):
        load.params[point.name] = plain(cell)
        return
    if value:
        if value.words.lstrip().startswith("@"):  # '~450 @ c=32'
            point = point._replace(concurrency=point_of_words("", value.words).concurrency or point.concurrency)
        is_of_title = column in table.title_columns and value.unit is None
        unit = unit_in(title) or implied_unit(title) if is_of_title else value.unit
        point = _with_remark(point, value.words)
        if metric := count_metric(value, label, column_name):
            add_stated(load, point, value, metric, 1.0, None, STATED)
        else:
            is_of_prefill = PREFILL_HEAD.search(table.heads[0]) and not metric_of(
                column_name, unit or unit_in(column_name)
            )
            column_words = f"prefill {column_name}" if is_of_prefill else name_of_duration(column_name, table.heads)
            is_other_time = table.names_times and (unit or unit_in(column_name)) in TIMES
            add_number(load, value._replace(unit=unit), point, label, column_words, "" if is_other_time else title)
        return
    if states_failure(cell):
        add_failure(load, cell.strip("*`"), point, label, column_name)
        return
    if runs := _runs_of(cell, label, column_name, title):
        for run_name, run_words, run in runs:
            add_number(load, run, point._replace(name=f"{point.name}, {run_name}"), run_words, column_name, title)
        return
    _add_parts(load, cell, point, label, column_name, title)


def _with_remark(point: MeasurementPoint, words_behind: str) -> MeasurementPoint:
    """Return a point whose name has what stands in brackets behind its number, but no difference: '62 (Q4_K_M)'."""
    match = _REMARK.fullmatch(words_behind)
    is_change = DERIVED.search(words_behind) or _CHANGE.search(words_behind)
    if match is None or is_change or not any(map(str.isalpha, match["remark"])):
        return point
    names, mark, line = point.name.rpartition(" (line ")
    return point._replace(name=f"{names}, {match['remark']}{mark}{line}")


def _add_parts(load: LoadBuilder, cell: str, point: MeasurementPoint, label: str, column_name: str, title: str) -> None:
    """Add the statistics of a cell, else its numbers with names, else the figures of its sentence."""
    statistics = read_statistics(cell)
    for statistic, stated_value in statistics:
        add_number(load, stated_value, point, label, column_name, title, statistic)
    parts = [] if statistics else read_parts(cell)
    for name, stated_value in parts or ([] if statistics else _statements_of(cell)):
        part = point._replace(name=f"{point.name}, {name}") if name else point
        part = part._replace(concurrency=part.concurrency or point_of_words("", name).concurrency)
        is_metric = metric_of(name, stated_value.unit) is not None  # then no other word of the row changes it
        words = ("", name) if is_metric else (label, f"{name} {column_name}")
        add_number(load, stated_value, part, *words, title)


def _with_second_heads(table: Table) -> Table:
    """Return a table with the first row as a second one of heads, if empty heads follow others and it names arms.

    Below 'Req/s' and an empty head stand 'main' and 'this PR'.
    """
    names = table.rows[0] if table.rows else []
    if named_heads := with_units_below(table.heads, names):
        return _without_first_row(table, named_heads)
    if _has_units_below(table.heads, names):
        heads = [f"{head} {name}".strip() for head, name in zip(table.heads, names, strict=True)]
        return _without_first_row(table, heads)
    has_groups = len(names) == len(table.heads) and sum(not head for head in table.heads[1:]) > 1
    if not has_groups or names[0] or not all(names[1:]) or any(map(read_cell, names)) or not table.heads[1]:
        return table
    heads, group = [table.heads[0]], ""
    for head, name in zip(table.heads[1:], names[1:], strict=True):
        group = head or group
        subject, bracket, unit = group.partition(" (")
        heads.append(f"{subject} {plain(name)}{bracket}{unit}")
    return _without_first_row(table, heads)


def _has_units_below(heads: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the units stand in a second row of heads: 'Memory' and 'TPS' below an empty head and a card's."""
    is_row_of_heads = len(names) == len(heads) and not names[0] and all(names[1:]) and not any(map(read_cell, names))
    has_unit = is_row_of_heads and any(unit_in(name) or implied_unit(name) for name in names[1:])
    return has_unit and not heads[0] and not all(heads[1:]) and not any(map(unit_in, heads))


def _without_first_row(table: Table, heads: list[str]) -> Table:
    row_lines = [table.line_of(row_number) for row_number in range(1, len(table.rows))]
    return table._replace(heads=heads, rows=table.rows[1:], row_lines=row_lines)


def _note_columns_without_unit(load: LoadBuilder, table: Table, title: str) -> None:
    """Note the columns of plain numbers that name a latency or a speed but no unit, which is then not known."""
    rows_with_units = any(unit_in(_label(table, row)) for row in table.rows)
    if rows_with_units or unit_in(title):
        return
    for column, head in enumerate(table.heads[1:], 1):
        is_metric = names_measurement(head) or any(
            pattern.fullmatch(plain(head)) for pattern in (ENGINE_HEAD, COMPARED_HEAD)
        )
        if not is_metric or unit_of_names(head, "", title):
            continue
        cells = [row[column] for row in table.rows if column < len(row) and any(map(str.isdigit, row[column]))]
        has_figure = any(FIGURE.search(DIFFERENCE.sub("", cell)) for cell in cells)
        open_cells = [plain(cell) for cell in cells if (value := read_cell(cell)) and value.unit is None]
        if has_figure and open_cells and names_measurement(head):
            load.notes.append(
                f"Left out below {head!r}, since they state no unit and the other numbers there prove none: "
                f"{', '.join(open_cells[:MOST_NAMES_IN_NOTE])}."
            )
        elif cells and not has_figure:
            note = f"The column {head!r} {NO_UNIT}: its numbers were left out."
            is_told = note in load.notes  # of another table
            load.notes.append(
                note.replace(NO_UNIT, f"of the table at line {table.line} {NO_UNIT}") if is_told else note
            )


def compares_with_others(table: Table) -> bool:
    """Return whether a row of a table is what others published or what is aimed at."""
    return any(AIMED_AT.search(plain(row[0])) for row in table.rows if row)


def _is_no_measurement(name: str) -> bool:
    """Return whether a row or column compares others or states an aim."""
    name = WITH_DEVIATION.sub("", name)
    is_of_others = AIMED_AT.search(plain(name)) or PUBLISHED_HEAD.fullmatch(plain(name))
    return bool(is_of_others or DERIVED.search(plain(name)) or DERIVED_HEAD.fullmatch(name))


def _is_ratio(name: str, heads: Sequence[str]) -> bool:
    """Return whether a column divides two others: 'graph/eager' beside 'eager tok/s' and 'graph tok/s'."""
    parts = [part.strip().lower() for part in name.strip("*` ").split("/")]
    names = [head.strip("*` ").lower() for head in heads]
    is_other = len(parts) == 2 and all(len(part) > 1 and unit_in(part) is None for part in parts)
    return is_other and all(any(head.startswith(f"{part} ") for head in names) for part in parts)


def _note_what_is_left_out(load: LoadBuilder, table: Table) -> None:
    """Note the rows and columns that compare others or state an aim."""
    columns = [[row[column] for row in table.rows if column < len(row)] for column in range(len(table.heads))]
    lines = [*zip(table.heads, columns, strict=True), *((_label(table, row), row[1:]) for row in table.rows)]
    names = [name for name, cells in lines if any(map(read_cell, cells))]
    names = [name for name in names if _is_no_measurement(name) or _is_ratio(name, table.heads)]
    if left_out := dict.fromkeys(name.strip("*` ")[:MAX_NAME_CHARS] for name in names):
        listed = ", ".join(map(repr, list(left_out)[:MOST_NAMES_IN_NOTE]))
        load.notes.append(f"What compares others or states an aim was left out: {listed}.")


def _runs_of(cell: str, label: str, column_name: str, title: str) -> list[tuple[str, str, StatedNumber]]:
    """Return the plain numbers between slashes or plus signs of a cell whose row or column states their unit.

    Each has a name and the words that name its metric: a part of the label if that has as many ('TTFT p50/p99 (ms)').
    """
    parts = with_last_unit(split_parts(cell.replace("**", ""), PARTS_OF_CELL))
    values = [value for part in parts if (value := read_cell(part))]
    if len(parts) < 2 or len(values) != len(parts) or "@" in cell:
        return []
    names: Sequence[str] = names_of_arms(column_name) or names_of_parts(label)
    if len(names) == len(values):
        return list(zip(names, names, values, strict=True))
    unit = values[-1].unit or unit_of_names(column_name, label, title)
    has_other_names = any(len(names_of_parts(name)) > 1 for name in (label, column_name, title))
    if unit is None or has_other_names or any(value.unit not in (None, unit) for value in values):
        return []
    if unit in MEMORY and len(values) == 2 and values[0].low < values[1].low:
        return [("used", label, values[0])]  # '5.3 / 16 GB' are what is used and what there is
    return [(f"value {place} of {len(values)}", label, value) for place, value in enumerate(values, 1)]


def _statements_of(cell: str) -> list[tuple[str, StatedNumber]]:
    """Return the figures of a cell that is a sentence: '235 ms TTFT at c32 vs vLLM 514 ms'."""
    values = []
    former = ""
    for statement in read_sentences(cell):
        words = statement.words
        former = words if metric_of(words, statement.value.unit) else f"{words} {former}".strip()
        values.append((former, statement.value))
    return values


def _filled(table: Table) -> list[list[str]]:
    """Return the rows with the cells that a merged one above them stands for: the empty ones before the first text."""
    rows: list[list[str]] = []
    above: Sequence[str] = ()
    for row in table.rows:
        empty = next((index for index, cell in enumerate(row) if cell), 0)
        is_merged = 0 < empty < len(row) - 1 and len(above) > empty and not any(map(unit_in, table.heads[:empty]))
        filled_row = [*above[:empty], *row[empty:]] if is_merged else row
        rows.append(filled_row)
        above = filled_row if any(row) else ()
    return rows


def _with_statistics(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of statistics, as pandas' `describe` prints them, by their names, and without counts and sums."""
    names = {row[0].lower() for row in rows if row}
    if "mean" not in names or names.isdisjoint(("50%", "p50", "median")):
        return rows
    return [
        [f"p{row[0][:-1]}" if QUANTILE.fullmatch(row[0]) else row[0], *row[1:]]
        if row[0].lower() not in NO_STATISTICS else [row[0], *[""] * (len(row) - 1)]
        for row in rows
    ]  # fmt: skip


def _with_quantiles(heads: Sequence[str]) -> list[str]:
    """Return the heads of pandas' `describe` by Pitwall's names: 'p50' for '50%'; others as they are."""
    lowered = [head.lower() for head in heads]
    if "mean" not in lowered or "50%" not in lowered:
        return [*heads]
    return [f"p{head[:-1]}" if QUANTILE.fullmatch(head) else head for head in heads]


def _is_count_of_values(column_name: str, heads: Sequence[str]) -> bool:
    """Return whether a column beside that of a mean counts the values that it is the mean of."""
    return plain(column_name).lower() in ("count", "n") and any(plain(head).lower() == "mean" for head in heads)


def _label(table: Table, row: Sequence[str]) -> str:
    """Return the cell that names the metric of a row, with the unit of its own column; else the first."""
    heads = [head.strip("*` ") for head in table.heads]
    unit = next((cell for head, cell in zip(heads, row, strict=False) if UNIT_HEAD.fullmatch(head)), "")
    metric_cell = next((cell for head, cell in zip(heads, row, strict=False) if METRIC_HEAD.fullmatch(head)), "")
    texts = [
        cell for column, cell in enumerate(row)
        if not (read_cell(cell) or FIGURE.search(cell.replace("**", "")) or cell[:1].isdigit())
        and not (column < len(heads) and NOTE_HEAD.fullmatch(heads[column]))
    ]  # fmt: skip
    label = metric_cell or next((cell for cell in texts if unit_in(cell) or implied_unit(cell)), row[0])
    return f"{label} ({unit})" if unit and unit_in(label) is None else label


def _columns_of_title(table: Table) -> frozenset[int]:
    """Return the columns of plain numbers that no head and no row gives a unit: they have that of the title."""
    if any(map(unit_in, table.heads)) or any(unit_in(row[0]) for row in table.rows):
        return frozenset()
    columns = [
        column for column, head in enumerate(table.heads)
        if column and not SETTING_HEAD.fullmatch(head.replace("_", " ").strip("*` "))
    ]  # fmt: skip
    return frozenset(columns) - _columns_of_versions(table, columns)


def _columns_of_versions(table: Table, columns: Sequence[int]) -> set[int]:
    """Return the columns of few whole numbers, each again and again, before others that have decimals: '3', '4'."""
    cells = {column: [row[column].strip("*` ") for row in table.rows if column < len(row)] for column in columns}
    has_decimals = {column for column in columns if any("." in cell for cell in cells[column])}
    return {
        column for column in columns
        if column not in has_decimals and any(decimal_column > column for decimal_column in has_decimals)
        and all(cell.isdecimal() for cell in cells[column]) and 2 * len(set(cells[column])) <= len(cells[column])
    }  # fmt: skip


def _add_check(load: LoadBuilder, heads: Sequence[str], row: Sequence[str]) -> None:
    cells = dict(zip((head.lower() for head in heads), row, strict=False))
    result = next(cell for cell in row if cell.startswith((PASSED, NOT_PASSED)))
    is_pass = result.startswith(PASSED)
    mode = "streaming" if cells.get("streaming", "").lower() == "yes" else "whole" if "streaming" in cells else STATED
    load.check(suite="as published", case_name=row[0][:MAX_NAME_CHARS], mode=mode, is_pass=is_pass,
               why=None if is_pass else result[1:].strip() or "not told",
               exchange={"said": result[1:].strip()[:500]})  # fmt: skip


def models_in(tables: Sequence[Table]) -> list[str]:
    """Return the cells of the columns 'Model'."""
    return [
        cell
        for table in tables
        for row in table.rows
        for head, cell in zip(table.heads, row, strict=False)
        if head.strip("*` ").lower() == "model"
    ]
