"""Reads the lines that the first benchmark scripts of TensorRT-LLM print: one per batch, of names and values by turns.

`[BENCHMARK] batch_size 1 input_length 710 output_length 190 tokens_per_sec 43.09 latency(ms) 4409.816`
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import PrintedBlock, model_of, read_blocks, shape_of
from collectors.imports.results.values import count, number, text
from domain import JsonValue

TOOL = "TensorRT-LLM benchmark"
PROGRAM = re.compile(r"\bbenchmark\.py\b|\bgptSessionBenchmark\b")
MARK = "[BENCHMARK] "
NAMED_VALUE = re.compile(r"(?P<name>[A-Za-z][\w()]{0,60}) (?P<value>\S{1,200})(?:\s|$)")
LENGTHS = ("input_length", "output_length")
METRICS = {
    "tokens_per_sec": ("output_tps", "mean"),  # of the whole batch, over its whole latency
    "tokensPerSec": ("output_tps", "mean"),
    "latency(ms)": ("e2e_ms", "mean"),
    "percentile95(ms)": ("e2e_ms", "p95"),
    "percentile99(ms)": ("e2e_ms", "p99"),
    "generation_time(ms)": ("decode_ms", "mean"),
    "generationTime(ms)": ("decode_ms", "mean"),
    "generation_tokens_per_second": ("batch_decode_tps", "mean"),
    "generationTokensPerSecond": ("batch_decode_tps", "mean"),
    "total_generated_tokens": ("completion_tokens", "total"),
    "totalGeneratedTokens": ("completion_tokens", "total"),
}
MEMORY = "gpu_peak_mem(gb)"


def has_printed(content: str) -> bool:
    """Return whether a text contains such a line."""
    return MARK in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each line of a text, and the text with these lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for index, line in enumerate(lines):
        if MARK in line and "batch_size" in line and METRICS.keys() & _values_of(line).keys():
            yield index, index + 1


def _values_of(line: str) -> dict[str, JsonValue]:
    pairs = NAMED_VALUE.finditer(line[:4_000].partition(MARK)[2])
    return {pair["name"]: number_or_text(pair["value"]) for pair in pairs}


def _load_of(block: PrintedBlock, ticket: Ticket, load_number: int) -> LoadBuilder:
    values = _values_of(block.lines[0])
    model = text(values.pop("model_name", None)) or model_of(block.command)
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=load_number, model=model)
    batch = count(values.pop("batch_size", None))
    prompt_tokens, output_tokens = (count(values.pop(name, None)) for name in LENGTHS)
    name = f"{shape_of(prompt_tokens, output_tokens)}{f'{batch} at once' if batch else 'a batch'}"
    point = MeasurementPoint(name, batch, prompt_tokens, output_tokens)
    for label, value in values.items():
        if label in METRICS and number(value) is not None:
            load.result(point, *METRICS[label], value)
        elif label == MEMORY:
            if number(value):  # 0 where it was not measured
                load.result(point._replace(name=f"{name}: peak memory"), STATED, "max", value, unit="GB")
        else:
            load.params[label] = value
    return load
