"""Reads what `mlx_lm.benchmark` prints: one load per line of averages, with the trials above it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import stdev

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import (
    BenchmarkCommand,
    PrintedBlock,
    model_of,
    read_blocks,
    shape_of,
)
from collectors.imports.results.values import count
from domain import JsonValue

TOOL = "mlx_lm.benchmark"
PROGRAM = re.compile(r"\bmlx_lm[. ]benchmark\b")
NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
TIMES = re.compile(
    r"\s{0,12}(?:(?P<arm>[^:=]{1,60}): {1,8})??(?:(?P<title>[^:=]{1,60}): {1,8})?"
    rf"prompt_tps=(?P<prompt>{NUMBER}), generation_tps=(?P<generation>{NUMBER}), "
    rf"peak_memory=(?P<memory>{NUMBER})(?:, [\w=., ]{{1,200}})?\s*"
)
TRIAL, AVERAGES = re.compile(r"Trial \d{1,6}"), "Averages"
TIMING = re.compile(
    r"\s{0,12}Timing with prompt_tokens=(?P<prompt>\d{1,9})(?: and |, )generation_tokens=(?P<generation>\d{1,9})"
    r"(?:, batch_size=(?P<batch>\d{1,9}))?\.?\s*"
)
MEMORY_UNIT = "GB"


def has_printed(content: str) -> bool:
    """Return whether a text contains such a line."""
    return "generation_tps=" in content and any(TIMES.fullmatch(line[:400]) for line in content.splitlines())


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each line of averages of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield each line of averages together with the trials and the line of lengths above it."""
    start: int | None = None
    for index, line in enumerate(lines):
        match = TIMES.fullmatch(line[:400])
        if TIMING.fullmatch(line[:200]):
            start = index
        elif match and TRIAL.fullmatch(match["title"] or ""):
            start = index if start is None else start
        elif match:
            yield index if start is None else start, index + 1
            start = None
        elif line.strip():
            start = None


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(command))
    point = _point(lines, command)
    matches = [match for line in lines if (match := TIMES.fullmatch(line[:400]))]
    *trials, averages = matches
    title = averages["title"]
    names = (block.heading, averages["arm"], title if title != AVERAGES else None)
    load.params |= {"heading": ": ".join(filter(None, names))} if any(names) else {}
    decode = "decode_tps" if point.concurrency in (None, 1) else "batch_decode_tps"
    for name, metric in (("prompt", "prompt_tps"), ("generation", decode)):
        speeds = [float(trial[name]) for trial in trials]
        sd = stdev(speeds) if len(speeds) > 1 else None
        load.result(point, metric, "mean", float(averages[name]), n=len(speeds) or None, sd=sd)
    memory_point = point._replace(name=f"{point.name}: peak memory")
    load.result(memory_point, STATED, "max", float(averages["memory"]), unit=MEMORY_UNIT)
    speeds_by_trial: list[JsonValue] = [
        {"prompt_tps": float(trial["prompt"]), "generation_tps": float(trial["generation"])} for trial in trials
    ]
    load.params |= {"trials": speeds_by_trial} if speeds_by_trial else {}
    return load


def _point(lines: Sequence[str], command: BenchmarkCommand) -> MeasurementPoint:
    """Return the lengths that the block states, else those of the command."""
    timing = next((match for line in lines if (match := TIMING.fullmatch(line[:200]))), None)
    flags = command.values(("p", "prompt_tokens", "g", "generation_tokens", "b", "batch_size"))
    prompt_tokens = count(flags.get("p", flags.get("prompt_tokens")))
    output_tokens = count(flags.get("g", flags.get("generation_tokens")))
    batch = count(flags.get("b", flags.get("batch_size"))) or 1
    if timing:
        prompt_tokens, output_tokens = int(timing["prompt"]), int(timing["generation"])
        batch = int(timing["batch"] or 1)
    return MeasurementPoint(
        f"{shape_of(prompt_tokens, output_tokens)}{batch} at once", batch, prompt_tokens, output_tokens
    )
