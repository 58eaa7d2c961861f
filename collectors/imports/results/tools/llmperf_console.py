"""Reads what LLMPerf prints: the distributions of its requests below their names, and the totals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.tools import llmperf
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks

PROGRAM = re.compile(r"\btoken_benchmark_ray\b")
NUMBER = r"\d{1,12}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?"
NAME = re.compile(rf"\s{{0,12}}(?P<name>{'|'.join(llmperf.METRICS)})\s*")
STATISTIC = re.compile(rf"\s{{1,12}}(?P<statistic>p\d{{1,2}}|mean|min|max|stddev) = (?P<value>{NUMBER}|nan)\s*")
TOTAL = re.compile(rf"\s{{0,12}}(?P<label>[A-Z][\w ]{{5,60}}): (?P<value>{NUMBER})(?: tok(?:en)?s?/s)?\s*")
ERRORS = re.compile(r"\s{0,12}(?:Error Code Frequency|\{[^{}]{1,100}\})\s*")
TOTALS = {
    "Number Of Errored Requests": "results_number_errors",
    "Overall Output Throughput": "results_mean_output_throughput_token_per_s",
    "Number Of Completed Requests": "results_num_completed_requests",
    "Completed Requests Per Minute": "results_num_completed_requests_per_min",
}
SETTINGS = ("num_concurrent_requests", "mean_input_tokens", "mean_output_tokens")


def has_printed(content: str) -> bool:
    """Return whether a text contains such a summary."""
    return " = " in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each summary of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start, end in blocks_among(lines, lambda line: NAME.fullmatch(line[:80]) is not None, _is_following):
        if end > start + 1 and STATISTIC.fullmatch(lines[start + 1][:120]):
            yield start, end


def _is_following(line: str) -> bool:
    return any(pattern.fullmatch(line[:120]) for pattern in (NAME, STATISTIC, TOTAL, ERRORS))


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    summary: dict[str, Any] = {**block.command.values(SETTINGS), "model": model_of(block.command)}
    name = ""
    for line in block.lines:
        if match := NAME.fullmatch(line):
            name = match["name"]
        elif match := STATISTIC.fullmatch(line):
            summary[f"results_{name}_{match['statistic']}"] = number_or_text(match["value"])
        elif (match := TOTAL.fullmatch(line)) and match["label"] in TOTALS:
            summary[TOTALS[match["label"]]] = number_or_text(match["value"])
    return llmperf.load_of_summary(summary, ticket, number)
