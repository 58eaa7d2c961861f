"""Reads the scores that EvalPlus prints: the share of solved tasks for each of its datasets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, read_blocks
from reasons import Code, Reason

TOOL = "EvalPlus"
PROGRAM = re.compile(r"\bevalplus\.evaluate\b")
DATASET = re.compile(r"\s{0,12}(?P<task>[A-Za-z]{2,20}\+?) \(base(?: \+ extra)? tests\)\s*")
SCORE = re.compile(r"\s{0,12}(?P<metric>pass@\d{1,4}):\s{0,8}(?P<share>[01](?:\.\d{1,9})?)?\s*")
SHARE = re.compile(r"\s{0,12}(?P<share>[01](?:\.\d{1,9})?)\s*")


def has_printed(content: str) -> bool:
    """Return whether a text contains such a score."""
    lines = content.splitlines()
    return any(
        DATASET.fullmatch(line[:80]) and SCORE.fullmatch(below[:80]) for line, below in itertools.pairwise(lines)
    )


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each evaluation of a text, and the text with its scores left empty."""
    if not has_printed(content):
        return [], content
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    return blocks_among(
        lines,
        lambda line: DATASET.fullmatch(line[:80]) is not None and "+" not in line,
        lambda line: (
            any(pattern.fullmatch(line[:80]) for pattern in (SCORE, SHARE))
            or (DATASET.fullmatch(line[:80]) is not None and "+" in line)
        ),
    )


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    model = command.flags.get("model", "").strip("\"'") or None
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model)
    task, metric = "", ""
    for line in lines:
        dataset, score = DATASET.fullmatch(line[:80]), SCORE.fullmatch(line[:80])
        task = dataset["task"].lower() if dataset else task
        metric = score["metric"] if score else metric
        share = score["share"] if score else None if dataset else line.strip()
        if share:
            load.accuracy(task=task, filter="none", metric=metric, value=float(share), protocol_hash=None,
                          reason=Reason(Code.ITEM_COUNT_NOT_TOLD))  # fmt: skip
    return load
