"""Reads the results that oMLX's benchmark prints: single requests of several lengths, and batches of requests.

The speed of a batch is that of all its requests together; the throughput of a request counts prompt and answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.answer_tools import N, W
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, read_blocks

TOOL = "oMLX"
MODEL = re.compile(r"\s{0,12}Benchmark Model: (?P<model>\S{1,200})\s*")
SECTION = re.compile(r"\s{0,12}(?:Single Request Results|Continuous Batching(?: — (?P<kind>\w[\w ]{0,40}))?)\s*")
LENGTHS = re.compile(rf"\s{{0,12}}pp(?P<prompt>{W})[\w +]{{0,30}} / tg(?P<output>{W})(?: · .{{1,80}})?")
SPEED = rf"\s{{1,20}}({N}) tok/s"
REQUEST = re.compile(
    rf"\s{{0,12}}pp(?P<prompt>{W})/tg(?P<output>{W})\s{{1,30}}({N})\s{{1,20}}({N}){SPEED}{SPEED}\s{{1,20}}({N}){SPEED}"
    rf"\s{{1,20}}({N}) GB\s*"
)
BATCH = re.compile(rf"\s{{0,12}}(?P<level>{W})x{SPEED}\s{{1,20}}{N}x{SPEED}{SPEED}\s{{1,20}}({N})\s{{1,20}}({N})\s*")
OF_REQUEST = ("ttft_ms", "tpot_ms", "prompt_tps", "decode_tps", "e2e_ms", "total_tps")
OF_BATCH = ("batch_decode_tps", "prompt_tps", "prompt_tps_per_request", "ttft_ms", "e2e_ms")
BETWEEN = re.compile(
    r"\s{0,12}(?:oMLX - LLM inference.{0,80}|https://github\.com/\S{1,80}|[-=]{10,200}|"
    r"(?:Test|Batch) {2,30}\S.{1,200})?\s*"
)
MAX_LINE_CHARS = 300
NO_PROGRAM = re.compile(r"(?!)")


def has_printed(content: str) -> bool:
    """Return whether a text contains such results."""
    return " TPS" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each print of the benchmark, and the text with the lines left empty."""
    return read_blocks(content, _blocks, NO_PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the passages that a model's name or a section's begins and that have a row of results."""
    for start, end in blocks_among(lines, _is_opening, _is_following):
        if any(_row_of(line) for line in lines[start:end]):
            yield start, end


def _is_opening(line: str) -> bool:
    return any(pattern.fullmatch(line[:MAX_LINE_CHARS]) for pattern in (MODEL, SECTION))


def _is_following(line: str) -> bool:
    patterns = (BETWEEN, SECTION, LENGTHS, REQUEST, BATCH)
    return len(line) <= MAX_LINE_CHARS and any(pattern.fullmatch(line) for pattern in patterns)


def _row_of(line: str) -> re.Match[str] | None:
    return REQUEST.fullmatch(line[:MAX_LINE_CHARS]) or BATCH.fullmatch(line[:MAX_LINE_CHARS])


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number)
    kind, prompt_tokens, output_tokens = "", None, None
    for line in block.lines:
        if match := MODEL.fullmatch(line):
            load.model = match["model"]
        elif match := SECTION.fullmatch(line):
            kind, prompt_tokens, output_tokens = (match["kind"] or "").lower(), None, None
        elif match := LENGTHS.fullmatch(line):
            prompt_tokens, output_tokens = int(match["prompt"]), int(match["output"])
        elif match := REQUEST.fullmatch(line):
            _add_request(load, match)
        elif match := BATCH.fullmatch(line):
            level = int(match["level"])
            name = f"{kind}, {level} at once" if kind else f"{level} at once"
            _add_values(load, MeasurementPoint(name, level, prompt_tokens, output_tokens), OF_BATCH, match)
    return load


def _add_request(load: LoadBuilder, match: re.Match[str]) -> None:
    point = MeasurementPoint(f"pp{match['prompt']} tg{match['output']}", 1, int(match["prompt"]), int(match["output"]))
    _add_values(load, point, OF_REQUEST, match)
    memory_gb = float(match.groups()[-1])
    load.result(point._replace(name=f"{point.name}: peak memory"), STATED, "max", memory_gb, unit="GB")


def _add_values(load: LoadBuilder, point: MeasurementPoint, metrics: Sequence[str], match: re.Match[str]) -> None:
    """Add the numbers of a row in their order; the time of a whole answer is printed in seconds, and 0 is no value."""
    named_groups = len(match.re.groupindex)
    for metric, text in zip(metrics, match.groups()[named_groups:], strict=False):
        name = "decode_tps" if metric == "batch_decode_tps" and point.concurrency == 1 else metric
        if float(text):
            load.result(point, name, STATED, float(text), factor=1e3 if metric == "e2e_ms" else 1.0)
