"""Reads published texts: Markdown tables, columns pasted without bars, 'name: number' lines, printed benchmarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.looks import looks_of
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose import (
    benchy_table,
    five_prompts,
    llama_rows,
    llama_tables,
    lm_eval_dict,
    lm_eval_table,
    spec_bench_table,
)
from collectors.imports.results.prose.arms import name_arms, names_by_metric, share_settings, tables_by_heading
from collectors.imports.results.prose.bare_tables import read_bare_tables
from collectors.imports.results.prose.barred_lines import without_bars_of_figures
from collectors.imports.results.prose.charts import read_charts
from collectors.imports.results.prose.column_tables import read_column_tables
from collectors.imports.results.prose.command_speeds import add_command_speeds, read_command_speeds
from collectors.imports.results.prose.connection_probes import without_probes
from collectors.imports.results.prose.decoding_speeds import with_series_over_levels, with_speeds_beside_prompt
from collectors.imports.results.prose.draft_positions import add_position_lines
from collectors.imports.results.prose.fenced_files import has_fenced_file, read_fenced_files
from collectors.imports.results.prose.figure_lines import read_figure_lines
from collectors.imports.results.prose.figure_marks import FIGURE, lines_with_figures
from collectors.imports.results.prose.glued_tables import read_glued_tables
from collectors.imports.results.prose.heads import with_unit_of_latencies
from collectors.imports.results.prose.html_tables import read_html_tables
from collectors.imports.results.prose.interrupted_tables import with_whole_tables
from collectors.imports.results.prose.item_rates import add_item_rates
from collectors.imports.results.prose.led_lines import without_deviations
from collectors.imports.results.prose.line_figures import (
    add_aligned,
    add_figure,
    add_lines,
    add_statements,
    add_statistic_line,
    aligned,
    states_result,
)
from collectors.imports.results.prose.line_labels import without_lists_of_settings, without_sections_of_settings
from collectors.imports.results.prose.line_marks import without_line_marks
from collectors.imports.results.prose.llama_timings import add_llama_timings, has_timings
from collectors.imports.results.prose.metric_names import FORECAST, OF_MACHINE, PART_OF_MACHINE
from collectors.imports.results.prose.number_text import TIMED, read_cell, with_marks_of_about, with_unit_first
from collectors.imports.results.prose.printed_matrices import read_printed_matrices
from collectors.imports.results.prose.proved_units import with_proved_units
from collectors.imports.results.prose.rates_a_minute import with_units_a_minute
from collectors.imports.results.prose.repeated_values import leave_out_own_rows, leave_out_repeated_tables
from collectors.imports.results.prose.run_together_tables import read_run_together_tables
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.sentences import states_speed
from collectors.imports.results.prose.split_tables import read_split_tables
from collectors.imports.results.prose.stated_commands import settings_of_commands
from collectors.imports.results.prose.stated_settings import (
    StatedSettings,
    read_settings,
    without_settings_of_arms,
)
from collectors.imports.results.prose.statistic_lines import read_statistic_lines
from collectors.imports.results.prose.summary_tables import leave_out_repeated_summaries
from collectors.imports.results.prose.table_figures import NO_UNIT, add_table, compares_with_others, models_in
from collectors.imports.results.prose.table_units import (
    has_unread_numbers,
    units_in_text,
    unread_tables_note,
    with_unit_of_text,
)
from collectors.imports.results.prose.tables import RULE, Table, read_flattened_tables, read_tables
from collectors.imports.results.prose.task_columns import with_shares_of_tasks
from collectors.imports.results.prose.thousands import without_thousands_points
from collectors.imports.results.prose.unitless_pairs import note_unitless_pairs
from collectors.imports.results.prose.unitless_summaries import with_units
from collectors.imports.results.prose.units import test_unit, unit_in
from collectors.imports.results.prose.warm_ups import without_warm_ups
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import (
    answer_lines,
    batch_server,
    benchmark_lines,
    evalplus,
    evalscope_console,
    evalscope_lines,
    fmperf,
    guidellm_summary,
    guidellm_tables,
    inference_benchmarker,
    llama_speculative,
    llmperf_console,
    lmdeploy,
    mlx_lm,
    multi_turn,
    offline_bench,
    ollama,
    omlx,
    one_batch,
    optimum_benchmark,
    perf_analyzer,
    perf_console,
    printed_serving,
    send_one,
    server_counters,
    serving,
    sglang_eval,
    startup_bench,
    timed_responses,
    trtllm_bench,
    vegeta,
    vllm_multi_turn,
)
from collectors.imports.results.unread_lines import unread_note
from load_records import Result
from samples import Sample


class PrintedReader(Protocol):
    """Interface of a module that reads what a tool prints, wherever it stands in a text."""

    def has_printed(self, content: str) -> bool:
        """Return whether a text contains what the tool prints."""
        ...

    def read_printed(self, content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
        """Return the loads of a text, and the text with their lines left empty."""
        ...


PRINTED: tuple[PrintedReader, ...] = (
    printed_serving, serving, offline_bench, one_batch, ollama, mlx_lm, answer_lines, lm_eval_table, lm_eval_dict,
    evalplus, sglang_eval, perf_console, guidellm_tables, guidellm_summary, llama_speculative, vegeta,
    optimum_benchmark, batch_server, send_one, multi_turn, startup_bench, lmdeploy, perf_analyzer,
    evalscope_lines, evalscope_console, llmperf_console, vllm_multi_turn, inference_benchmarker, trtllm_bench,
    benchmark_lines, omlx, fmperf, timed_responses,
)  # fmt: skip
TOOL = "document"
MAX_CHARS = 4_000_000
SHARES_REASON = "All its figures are shares in per cent: it has no speed and no latency."
LINE_OF_POINT = re.compile(r"\(line (\d{1,9})\)$")
SERVER_HEAD = re.compile(r"(?:inference )?(?:engine|backend|framework|runtime|server|stack)", re.IGNORECASE)
LINES_OF_UNIT = 6  # above a table, that may state the unit of its latencies


def recognise(head: str) -> bool:
    """Return whether a text contains a table, a printed benchmark, columns of numbers, or a line with a result."""
    unmarked = without_bars_of_figures(with_units(_without_marks(head)))
    if has_benchmark(unmarked):
        return True
    unmarked = with_units_a_minute(without_sections_of_settings(unmarked))
    return (
        states_result(unmarked)
        or has_figures(unmarked)
        or has_timings(unmarked)
        or bool(read_figure_lines(unmarked, Sections(unmarked).labels_of)[0])
    )


def has_figures(head: str) -> bool:
    """Return whether a text contains a table, or lines or sentences with a speed or a latency of tokens."""
    unmarked = without_bars_of_figures(_without_marks(head))
    unmarked = with_units_a_minute(without_sections_of_settings(unmarked))
    labels_above = Sections(unmarked).labels_of
    return (
        has_table(unmarked)
        or server_counters.has_printed(unmarked)
        or bool(read_command_speeds(unmarked))
        or any(figure.is_speed for figure in read_figure_lines(unmarked, labels_above)[0])
        or states_speed(unmarked, labels_above)
    )


def has_table(head: str) -> bool:
    """Return whether a text contains a table, a printed benchmark, or columns of numbers with units."""
    if read_html_tables(head)[0] or read_charts(head)[0] or has_fenced_file(head):
        return True
    lines = head.splitlines()[:2000]
    has_rule = any(len(line) < 4096 and "|" in line and RULE.fullmatch(line) for line in lines)
    has_rule = has_rule or bool(read_tables("\n".join(line[:4096] for line in lines))[0])
    has_rule = has_rule or bool(read_split_tables("\n".join(lines))[0])
    has_rule = has_rule or bool(read_column_tables("\n".join(lines), _is_head)[0])
    has_rule = has_rule or bool(read_glued_tables("\n".join(lines))[0])
    has_rule = has_rule or bool(read_bare_tables("\n".join(lines))[0])
    has_rule = has_rule or bool(read_run_together_tables("\n".join(lines))[0])
    has_rule = has_rule or bool(read_printed_matrices("\n".join(lines))[0])
    has_rule = has_rule or bool(read_flattened_tables("\n".join(lines), _is_head)[0])
    has_rule = has_rule or bool(read_statistic_lines("\n".join(lines))[0])
    return has_rule or five_prompts.recognise(head) or sum(aligned(line) is not None for line in lines) >= 3


def has_benchmark(head: str) -> bool:
    """Return whether a text contains a table or a summary that only a benchmark tool prints."""
    return (
        any(reader.has_printed(head) for reader in PRINTED)
        or llama_tables.has_printed_table(head)
        or llama_rows.has_rows(head)
        or benchy_table.has_printed_table(head)
    )


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a text; raises ImportRefusedError if it has none."""
    text = with_whole_tables(with_units(without_thousands_points(_without_marks(source.text()))))
    if len(text) > MAX_CHARS:
        raise ImportRefusedError(
            f"{source.name} is longer than the limit of {MAX_CHARS:,} characters for published texts."
        )
    summaries, text_between = _read_summaries(source, text, ticket)
    text_between, listed_settings = without_lists_of_settings(without_sections_of_settings(text_between))
    text_between, warm_ups = without_warm_ups(with_units_a_minute(text_between))
    tables, words_around = _read_all_tables(text_between)
    words_around, barred_warm_ups = without_warm_ups(without_bars_of_figures(words_around))
    warm_ups += barred_warm_ups
    sections = Sections(text)
    sections.tell_apart([*(table.line for table in tables), *lines_with_figures(words_around)])
    tables = [with_shares_of_tasks(table)._replace(heading=sections.heading_of(table.line)) for table in tables]
    benchy = [table for table in tables if benchy_table.is_benchy(table)]
    llama = [table for table in tables if llama_tables.is_printed_table(table)]
    speculated = [table for table in tables if spec_bench_table.is_spec_bench(table)]
    tables_here = [table for table in tables if table not in (*benchy, *llama, *speculated)]
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, params={**listed_settings})
    load.notes += [f"The warm-up was left out: {warm_ups} of the lines."] if warm_ups else []
    rows_of_tables = _add_tables(load, tables_here, words_around, sections)
    count_of_cells = len(load.rows)
    has_prompts = five_prompts.recognise(words_around)
    rows_of_tools = [row for summary in summaries for row in summary.result_rows]
    _add_text(load, "" if has_prompts else words_around, sections, rows_of_tools)
    load.notes += [note] if (note := note_unitless_pairs(words_around)) else []
    rows_of_text = with_series_over_levels(load.rows[count_of_cells:])
    load.rows[count_of_cells:] = with_speeds_beside_prompt(rows_of_text, text)
    leave_out_repeated_tables(load, rows_of_tables, load.rows[count_of_cells:])
    for tables_of_arm in tables_by_heading(benchy):
        number = 3 + len(summaries) if summaries else 1
        summaries.append(benchy_table.read(tables_of_arm, text, ticket, number))
    candidates = [load]
    candidates += [five_prompts.read(words_around, ticket, 2)] if has_prompts else []
    for tables_of_arm in tables_by_heading(speculated):
        summaries.append(spec_bench_table.read(tables_of_arm, text, ticket, 3 + len(summaries)))
    candidates += [*summaries, *llama_tables.read(llama, text, ticket, 3 + len(summaries))]
    loads = [load for load in candidates if load.rows]
    notes_of_figures = list(load.notes)
    name_arms(loads, sections)
    headings = [table.heading for table in tables_here]
    settings = read_settings(text, models_in(tables_here), words_around, headings)
    _add_settings(load, without_settings_of_arms(settings, names_by_metric(loads)))
    if not any(map(_compares_engines, tables)):
        _add_settings_of_commands(load, loads, text, sections)
    share_settings(loads, load, text)
    if all(map(_has_shares_alone, loads)):
        reason = SHARES_REASON if loads else _reason(tables)
        unread = unread_note(text, []) if notes_of_figures else None
        left_out = "".join(f" {note}" for note in (*notes_of_figures, *filter(None, [unread])))
        raise ImportRefusedError(f"{source.name} looks like {looks_of(source)}. {reason}{left_out}")
    return loads


def _without_marks(text: str) -> str:
    return with_marks_of_about(without_line_marks(text))


def _read_summaries(source: ResultFile, text: str, ticket: Ticket) -> tuple[list[LoadBuilder], str]:
    """Return the loads of what tools printed into a text, and the text with their lines left empty."""
    summaries: list[LoadBuilder] = []
    for reader in (server_counters, *PRINTED):
        loads_of_tool, text = reader.read_printed(text, ticket, 3 + len(summaries))
        summaries += loads_of_tool
    loads_of_files, text = read_fenced_files(source, text, ticket, 3 + len(summaries))
    return summaries + loads_of_files, text


def _read_all_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables of a text of every form, and the text with their lines left empty."""
    html_tables, text = read_html_tables(text)
    charts, text = read_charts(text)
    split_tables, text = read_split_tables(text)
    tables, text = read_tables(text)
    tables = llama_rows.with_lost_heads(tables)
    column_tables, text = read_column_tables(text, _is_head)
    rows_without_heads, text = llama_rows.read_llama_rows(text, [*tables, *column_tables])
    glued_tables, text = read_glued_tables(text)
    bare_tables, text = read_bare_tables(text)
    run_together_tables, text = read_run_together_tables(text)
    matrices, text = read_printed_matrices(text)
    flattened_tables, text = read_flattened_tables(text, _is_head)
    tables = [*html_tables, *charts, *split_tables, *tables, *column_tables, *rows_without_heads]
    return [*tables, *glued_tables, *bare_tables, *run_together_tables, *matrices, *flattened_tables], text


def _add_tables(
    load: LoadBuilder, tables: Sequence[Table], words_around: str, sections: Sections
) -> list[list[Sample]]:
    """Add the figures of tables, without those of a machine's parts and of what is expected; return each one's rows."""
    lines, rows_of_tables = words_around.splitlines(), []
    rows_by_heading: dict[str, list[Sample]] = {}
    figures_of_text = units_in_text(words_around) if tables else []
    unread_tables: list[Table] = []
    titled_rows: list[tuple[str, list[Sample]]] = []
    for table in tables:
        headings = (*sections.labels_of(table.line)[:1], table.title)
        if forecast := next(filter(FORECAST.search, headings), None):
            load.notes.append(f"A table of what is expected was left out: {forecast!r}.")
        elif not _is_of_machine(table, headings):
            above = " ".join(lines[max(0, table.line - LINES_OF_UNIT - 1) : table.line - 1])
            heads = with_unit_of_latencies(table.heads, table.rows, above)
            table, proof_note = with_proved_units(table._replace(heads=heads), words_around)
            load.notes += [proof_note] if proof_note else []
            table, unit_note = with_unit_of_text(table, figures_of_text)
            count_before, count_of_notes = len(load.rows), len(load.notes)
            add_table(load, _in_section(table, sections))
            rows = load.rows[count_before:]
            is_noted = any(NO_UNIT in note for note in load.notes[count_of_notes:])
            if not rows and not is_noted and has_unread_numbers(table):
                unread_tables.append(table)
            load.notes += [unit_note] if rows and unit_note else []
            if compares_with_others(table):
                headings_above = filter(table.heading.startswith, rows_by_heading)
                leave_out_own_rows(load, rows, [row for heading in headings_above for row in rows_by_heading[heading]])
            rows_by_heading.setdefault(table.heading, []).extend(rows)
            rows_of_tables.append(load.rows[count_before:])
            titled_rows.append((f"{table.heading} | {table.title}", rows_of_tables[-1]))
    load.notes += [unread_tables_note(unread_tables)] if unread_tables else []
    leave_out_repeated_summaries(load, titled_rows)
    return rows_of_tables


def _add_text(load: LoadBuilder, text: str, sections: Sections, rows_of_tools: Sequence[Result]) -> None:
    """Add the figures of the lines and the sentences around tables and what tools printed."""
    text = add_llama_timings(load, without_deviations(without_probes(text)), sections)
    text = add_command_speeds(load, add_position_lines(load, text, sections), sections)
    statistic_lines, text = read_statistic_lines(text)
    for statistic_line in statistic_lines:
        add_statistic_line(load, statistic_line, sections)
    figures, text = read_figure_lines(text, sections.labels_of)
    stored_values: set[tuple[str, str, float]] = set()  # a p50 beside an equal median is the same value
    for figure in figures:
        add_figure(load, figure, stored_values, sections)
    text = add_aligned(load, with_unit_first(text), sections)
    text = add_lines(load, text, sections)
    add_statements(load, text, sections, rows_of_tools)
    add_item_rates(load, text, sections)


def _has_shares_alone(load: LoadBuilder) -> bool:
    """Return whether all figures of a load are shares in per cent that Pitwall has no metric for."""
    return all(isinstance(row, Result) and (row.metric, row.unit) == (STATED, "%") for row in load.rows)


def _reason(tables: Sequence[Table]) -> str:
    """Return why nothing of a text is read."""
    if tables:
        return (
            "Its tables have no figure with a unit: neither a head, nor a row, nor the line above a table states one "
            "(tok/s, ms), or what has one compares others or states an aim."
        )
    return (
        "It has no table and no line with a result that is read: a figure with its unit, as in "
        "'Decode: 95.9 tok/s', or what a known benchmark tool prints."
    )


def _is_of_machine(table: Table, headings: Sequence[str]) -> bool:
    """Return whether a table lists parts of a machine, by its heading or its labels, without a speed or a time."""
    cells = (cell for row in (table.heads, *table.rows) for cell in row)
    parts = sum(bool(row) and PART_OF_MACHINE.fullmatch(row[0]) is not None for row in (table.heads, *table.rows))
    return (parts > 1 or any(map(OF_MACHINE.fullmatch, headings))) and not any(
        unit_in(cell) in TIMED or ((value := read_cell(cell)) and value.unit in TIMED) for cell in cells
    )


def _in_section(table: Table, sections: Sections) -> Table:
    """Return a table with the headings that tell it apart; the innermost with a unit is its title if it has none."""
    title = table.title if unit_in(table.title) or test_unit(table.title) else ""
    cells = {cell for row in table.rows for cell in row}
    title = title or sections.unit_heading_of(table.line, cells) or table.title
    return table._replace(heading=sections.heading_of(table.line), title=title)


def _add_settings(load: LoadBuilder, settings: StatedSettings) -> None:
    """Add what the words of a text state of the server that was measured."""
    load.model = settings.model
    load.params |= {"engine": settings.engine} if settings.engine else {}
    load.params |= {"gpu": settings.gpu} if settings.gpu else {}
    load.server_config |= {"tensor_parallel": settings.tensor_parallel} if settings.tensor_parallel else {}
    load.server_config |= {"quantization": settings.quantization} if settings.quantization else {}
    load.notes += [settings.sentence] if settings.sentence else []


def _add_settings_of_commands(load: LoadBuilder, loads: Sequence[LoadBuilder], text: str, sections: Sections) -> None:
    """Add what the commands of a text state of the server that all its results are of."""
    points = [row.point for other in loads for row in other.result_rows]
    lines = {int(match[1]) for point in points if (match := LINE_OF_POINT.search(point))}
    lines |= {other.line for other in loads if other.line}
    names = [name for names_of_metric in names_by_metric(loads) for name in names_of_metric]
    settings = settings_of_commands(text, sections, lines, names)
    load.server_config |= {name: value for name, value in settings.items() if name not in load.server_config}
    listed = ", ".join(f"{name} {value}" for name, value in settings.items())
    load.notes += [f"Read from the commands of the text: {listed}."] if listed else []


def _compares_engines(table: Table) -> bool:
    """Return whether a column of a table names the server of each row, and not always the same."""
    columns = [column for column, head in enumerate(table.heads) if SERVER_HEAD.fullmatch(head.strip("*` "))]
    return any(len({row[column] for row in table.rows if column < len(row)}) > 1 for column in columns)


def _is_head(cell: str) -> bool:
    """Return whether a cell states a unit without a number of its own."""
    return unit_in(cell) is not None and not FIGURE.search(cell)
