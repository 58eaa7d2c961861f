"""Reads what `sglang.bench_one_batch` prints: one load per measured pass. Its speeds are those of the whole batch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import (
    BenchmarkCommand,
    PrintedBlock,
    blocks_among,
    model_of,
    read_blocks,
    shape_of,
)
from domain import JsonValue

TOOL = "sglang.bench_one_batch"
PROGRAM = re.compile(r"\bbench_(?:one_batch|latency)\b")
FLAGS = ("tp", "tp_size", "quantization", "attention_backend")
VALUES = re.compile(
    r"--(?P<name>batch|input|output)(?:-size|-len)?(?:=| {1,8})(?P<values>\d{1,9}(?: {1,8}\d{1,9}){0,40})"
)
NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
LINE = re.compile(
    rf"\s{{0,12}}(?P<part>Prefill|Decode|Total)\.? {{0,4}}(?P<step>\d{{1,9}}\.)? {{0,4}}"
    rf"(?:Batch size: {{1,4}}(?P<batch>\d{{1,9}}), )?(?P<median>median )?latency: {{1,12}}(?P<seconds>{NUMBER}) s, "
    rf"(?:median )?throughput: {{1,12}}(?P<tps>{NUMBER}) token/s\s*"
)
WARMUP = re.compile(r"\s{0,12}Warmup \.{2,4}\s*")
MEASURED = re.compile(r"\s{0,12}Benchmark \.{2,4}\s*")
BETWEEN = re.compile(r"\s{0,12}(?:\[20\d\d-\d\d-\d\d [^\]]{1,40}\] [A-Z][\w ]{1,60}\.?\s{0,12})?")  # a log's message
WARMUP_NOTE = "The warm-up pass is left out."
METRICS = {  # part of the pass -> metric of its speed, metric of its latency
    "Prefill": ("prompt_tps", "prompt_ms"),
    "Decode": ("batch_decode_tps", "tpot_ms"),
    "Total": ("total_tps", "e2e_ms"),
}


def has_printed(content: str) -> bool:
    """Return whether a text contains the prefill of a pass."""
    return "Prefill" in content and any(_is_prefill(line) for line in content.splitlines())


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each measured pass of a text, and the text with the lines of all passes left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the passes, a warm-up together with the measured pass behind it; each later prefill begins another pass."""
    for first, last in blocks_among(lines, _is_opening, _is_following):
        for start, end in _runs(lines, first, last):
            measured = next((index for index in range(start, end) if MEASURED.fullmatch(lines[index][:40])), start)
            prefills = [index for index in range(measured, end) if _is_prefill(lines[index])]
            if any(_is_prefill(line) for line in lines[start:end]):
                yield from pairwise([start, *prefills[1:], end])


def _runs(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs among lines: only a stated warm-up reaches over an empty line to its measured pass."""
    is_warming = WARMUP.fullmatch(lines[start][:40]) is not None
    for index in range(start + 1, end):
        if MEASURED.fullmatch(lines[index][:40]):
            if not is_warming and not lines[index - 1].strip():
                yield start, index
                start = index
            is_warming = False
    while BETWEEN.fullmatch(lines[end - 1][:120]):
        end -= 1
    yield start, end


def _is_opening(line: str) -> bool:
    return any(pattern.fullmatch(line[:40]) for pattern in (WARMUP, MEASURED)) or _is_prefill(line)


def _is_prefill(line: str) -> bool:
    match = LINE.fullmatch(line[:300])
    return match is not None and match["part"] == "Prefill"


def _is_following(line: str) -> bool:
    patterns = (LINE, MEASURED, BETWEEN)
    return any(pattern.fullmatch(line[:300]) for pattern in patterns)


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    start = next((index + 1 for index, line in enumerate(lines) if MEASURED.fullmatch(line[:40])), 0)
    matches = [match for line in lines[start:] if (match := LINE.fullmatch(line[:300]))]
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, number=number, params=command.values(FLAGS), model=model_of(command)
    )
    load.notes += [WARMUP_NOTE] if start > 1 else []
    point = _point(matches, command)
    sizes = {"batch_size": point.concurrency, "input_len": point.prompt_tokens, "output_len": point.output_tokens}
    load.params |= {name: size for name, size in sizes.items() if size is not None}
    for match in matches:
        if not _is_step(match):
            _add_line(load, point, match)
    steps: list[JsonValue] = [float(match["tps"]) for match in matches if _is_step(match)]
    load.params |= {"decode_tps_by_step": steps} if steps else {}
    return load


def _is_step(match: re.Match[str]) -> bool:
    return match["part"] == "Decode" and not match["median"]  # early ones have no number


def _point(matches: Sequence[re.Match[str]], command: BenchmarkCommand) -> MeasurementPoint:
    """Return the batch that the steps state, and those lengths of the command that fit the speeds."""
    values = {
        match["name"]: [int(value) for value in match["values"].split()] for match in VALUES.finditer(command.words)
    }
    stated_batch = next((int(match["batch"]) for match in matches if match["batch"]), None)
    answers = next((float(match["tps"]) * float(match["seconds"]) for match in matches if match["median"]), None)
    batch = stated_batch or _nearest(values.get("batch", []), answers)
    tokens = {match["part"]: float(match["tps"]) * float(match["seconds"]) / (batch or 1) for match in matches}
    prompt_tokens = _nearest(values.get("input", []), tokens.get("Prefill"))
    answer = tokens["Total"] - (prompt_tokens or 0) if "Total" in tokens else None
    output_tokens = _nearest(values.get("output", []), answer)
    name = f"{batch} at once" if batch else "a batch"
    return MeasurementPoint(f"{shape_of(prompt_tokens, output_tokens)}{name}", batch, prompt_tokens, output_tokens)


def _nearest(lengths: Sequence[int], tokens: float | None) -> int | None:
    """Return the length that is nearest to a number of tokens; of several without that number none."""
    if tokens is None or len(lengths) < 2:
        return lengths[0] if len(lengths) == 1 else None
    return min(lengths, key=lambda length: abs(length - tokens))


def _add_line(load: LoadBuilder, point: MeasurementPoint, match: re.Match[str]) -> None:
    speed, latency = METRICS[match["part"]]
    statistic = "median" if match["median"] else STATED
    load.result(point, speed, statistic, float(match["tps"]))
    load.result(point, latency, statistic, float(match["seconds"]), factor=1e3)
