"""Reads the statistics that vLLM's `benchmark_serving_multi_turn.py` prints. Its deviations divide by n - 1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks

TOOL = "vllm benchmark_serving_multi_turn.py"
PROGRAM = re.compile(r"\bbenchmark_serving_multi_turn\b")
NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
TITLE = re.compile(r"\s{0,12}Statistics summary(?: \(.{1,80}\))?:\s*")
TOTAL = re.compile(rf"\s{{0,12}}(?P<name>[a-z_]{{5,40}}) = (?P<value>{NUMBER})\s*")
RULE = re.compile(r"\s{0,12}-{20,160}\s*")
HEADS = re.compile(r"\s{5,80}count(?: {1,20}(?:mean|std|min|max|\d{1,2}(?:\.\d{1,2})?%)){2,14}\s*")
ROW = re.compile(rf"\s{{0,12}}(?P<name>[a-z_]{{5,40}})(?P<cells>(?: {{1,30}}{NUMBER}){{3,15}})\s*")
TOTALS = {"runtime_sec": ("duration_s", "total"), "requests_per_sec": ("request_tps", "mean")}
METRICS = {
    "ttft_ms": "ttft_ms", "tpot_ms": "tpot_ms", "latency_ms": "e2e_ms", "input_num_tokens": "prompt_tokens",
    "output_num_tokens": "completion_tokens",
}  # fmt: skip
OTHER_UNITS = {"input_num_turns": "turns", "output_num_chunks": "chunks"}
POINT = MeasurementPoint("all requests")


def has_printed(content: str) -> bool:
    """Return whether a text contains such statistics."""
    return "Statistics summary" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each summary of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start, end in blocks_among(lines, lambda line: TITLE.fullmatch(line[:120]) is not None, _is_following):
        if any(HEADS.fullmatch(line[:300]) for line in lines[start:end]):
            yield start, end


def _is_following(line: str) -> bool:
    return any(pattern.fullmatch(line[:300]) for pattern in (TOTAL, RULE, HEADS, ROW))


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(block.command))
    heads: list[str] = []
    for line in block.lines:
        if HEADS.fullmatch(line):
            heads = line.split()
        elif (match := TOTAL.fullmatch(line)) and match["name"] in TOTALS:
            load.result(POINT, *TOTALS[match["name"]], float(match["value"]))
        elif match := ROW.fullmatch(line):
            cells = dict(zip(heads, map(float, match["cells"].split()), strict=False))
            _add_row(load, match["name"], cells)
    return load


def _add_row(load: LoadBuilder, name: str, cells: dict[str, float]) -> None:
    metric = METRICS.get(name, STATED)
    point = POINT if metric != STATED else POINT._replace(name=f"{POINT.name}: {name}")
    n = int(cells.get("count", 0)) or None
    for head, value in cells.items():
        if head not in ("count", "std"):
            statistic = percentile_name(head.rstrip("%")) if head.endswith("%") else head
            load.result(
                point, metric, statistic, value, n=n, sd=cells.get("std") if statistic == "mean" else None,
                unit=OTHER_UNITS.get(name, "1") if metric == STATED else None,
            )  # fmt: skip
