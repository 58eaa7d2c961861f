"""Reads what `sglang.bench_one_batch_server` prints: one load per batch, from its lines or from the table behind them.

The speed of the output is that of the whole batch after its last first token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import (
    NO_COMMAND,
    PrintedBlock,
    blocks_among,
    command_among,
    model_of,
    read_blocks,
    shape_of,
    without_blocks,
)
from collectors.imports.results.values import count, number

TOOL = "sglang.bench_one_batch_server"
PROGRAM = re.compile(r"\bbench_one_batch_server\b")
LINE = re.compile(
    r"\s{0,12}(?P<name>batch size|input_len|output_len|(?:input |output |last generation |\(input \+ output\) "
    r"|steady-state output )?(?:latency|throughput)|last_ttft|acc_length|cache hit rate|total output tokens"
    r"|early-stopped requests): {1,4}(?P<value>-?\d{1,12}(?:\.\d{1,9})?(?:/\d{1,9})?)(?: .{0,120})?\s*"
)
OPENING = re.compile(r"\s{0,12}batch size: \d{1,9}\s*")
WARMUP_BEGIN, WARMUP_END = "= Warmup Begin =", "= Warmup End "
HEADS = {"batch size", "latency (s)", "output throughput (tok/s)"}
RULE = re.compile(r"\s{0,12}\|(?:\s?:?-{2,80}:?\s?\|){3,20}\s*")
OUTPUT_LENS = re.compile(r"Output lens: \((?P<tokens>\d{1,9}),\)")
INPUT_LENS = re.compile(r"Input lens: \((?P<tokens>\d{1,9}),\)")
DECODE = "batch_decode_tps"
METRICS = {  # name in the lines or in the table -> metric, statistic, factor
    "latency": ("e2e_ms", STATED, 1e3),
    "latency (s)": ("e2e_ms", STATED, 1e3),
    "input throughput": ("prompt_tps", STATED, 1.0),
    "input throughput (tok/s)": ("prompt_tps", STATED, 1.0),
    "output throughput": (DECODE, STATED, 1.0),
    "output throughput (tok/s)": (DECODE, STATED, 1.0),
    "(input + output) throughput": ("total_tps", STATED, 1.0),
    "last_ttft": ("ttft_ms", "max", 1e3),
    "acc_length": ("acceptance_length", "mean", 1.0),
    "acc length": ("acceptance_length", "mean", 1.0),
    "itl (ms)": ("tpot_ms", "mean", 1.0),
    "total output tokens": ("completion_tokens", "total", 1.0),
}
NO_METRIC = ("last generation throughput", "steady-state output throughput", "steady output throughput (tok/s)")
SIZES = (("batch size",), ("input_len", "input len"), ("output_len",))
WARMUP_NOTE = "The warm-up is left out."
MAX_LINES_ABOVE = 4


def has_printed(content: str) -> bool:
    """Return whether a text contains the lines of a batch, or the table of several."""
    lines = content.splitlines() if "batch size" in content else []
    return bool(_tables(lines)) or any(True for _ in _batches(lines))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each batch of a text, and the text with their lines left empty.

    A table behind such lines repeats them.
    """
    if not has_printed(content):
        return [], content
    lines = content.splitlines()
    warm_ups = _warm_ups(lines)
    unwarmed_text = without_blocks(lines, warm_ups)
    loads, text = read_blocks(unwarmed_text, _batches, PROGRAM, _load_of_lines, ticket, first_number)
    lines = text.splitlines()
    tables = _tables(lines)
    loads = loads or _loads_of_tables(lines, tables, ticket, first_number)
    for load in loads if warm_ups else ():
        load.notes.append(WARMUP_NOTE)
    return loads, without_blocks(lines, tables)


def _warm_ups(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first line of each warm-up and the line behind its last."""
    begins = [index for index, line in enumerate(lines) if WARMUP_BEGIN in line[:80]]
    ends = [index for index, line in enumerate(lines) if WARMUP_END in line[:80]]
    return [(begin, end + 1) for begin, end in zip(begins, ends, strict=False) if begin < end]


def _batches(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start, end in blocks_among(lines, _is_opening, _is_following):
        if any("latency:" in line for line in lines[start:end]):
            yield start, end


def _is_opening(line: str) -> bool:
    return OPENING.fullmatch(line[:80]) is not None


def _is_following(line: str) -> bool:
    return LINE.fullmatch(line[:200]) is not None and not _is_opening(line)


def _tables(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the line of the heads of each table and the line behind its last row."""
    tables = []
    for head in range(len(lines) - 1):
        if (
            "batch size" in lines[head]
            and RULE.fullmatch(lines[head + 1][:1_000])
            and set(_cells(lines[head])) >= HEADS
        ):
            ends = (index for index in range(head + 2, len(lines)) if not lines[index].lstrip().startswith("|"))
            tables.append((head, next(ends, len(lines))))
    return tables


def _cells(line: str) -> list[str]:
    return [cell.strip().lower() for cell in line[:2_000].strip().strip("|").split("|")]


def _load_of_lines(block: PrintedBlock, ticket: Ticket, index: int) -> LoadBuilder:
    matches = [match for line in block.lines if (match := LINE.fullmatch(line[:200]))]
    values = {match["name"]: match["value"] for match in matches}
    return _load_of(values, ticket, index, model_of(block.command))


def _loads_of_tables(
    lines: Sequence[str], tables: Sequence[tuple[int, int]], ticket: Ticket, first_number: int
) -> list[LoadBuilder]:
    """Return a load for each row; the length of the answers may stand above the table."""
    command = command_among(lines, PROGRAM) or NO_COMMAND
    loads: list[LoadBuilder] = []
    for head, end in tables:
        above = " ".join(lines[max(0, head - MAX_LINES_ABOVE) : head])
        output_len = OUTPUT_LENS.search(above[-400:])
        input_len = INPUT_LENS.search(above[-400:])
        sizes = {
            name: match["tokens"] for name, match in (("output_len", output_len), ("input_len", input_len)) if match
        }
        for row in lines[head + 2 : end]:
            values = sizes | dict(zip(_cells(lines[head]), _cells(row), strict=False))
            loads.append(_load_of(values, ticket, first_number + len(loads), model_of(command)))
            loads[-1].line = head + 1
    return loads


def _load_of(values: Mapping[str, str], ticket: Ticket, index: int, model: str | None) -> LoadBuilder:
    """Return the load of a batch; without a time to the first token its output is divided by its whole latency."""
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=index, model=model)
    batch, prompt_tokens, output_tokens = (
        count(number_or_text(next((values[name] for name in names if name in values), None))) for names in SIZES
    )
    name = f"{batch} at once" if batch else "a batch"
    point = MeasurementPoint(f"{shape_of(prompt_tokens, output_tokens)}{name}", batch, prompt_tokens, output_tokens)
    has_input = any(name.startswith("input throughput") for name in values)
    for name, text in values.items():
        value = number_or_text(text)
        if name in METRICS and number(value) is not None:
            metric, statistic, factor = METRICS[name]
            load.result(
                point, metric if has_input or metric != DECODE else "output_tps", statistic, value, factor=factor
            )
        elif name in NO_METRIC and number(value) is not None:
            load.result(point._replace(name=f"{point.name}: {name}"), STATED, STATED, value, unit="tok/s")
        elif name not in sum(SIZES, ()) and text and name not in METRICS:
            load.params[name] = value
    return load
