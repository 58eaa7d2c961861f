"""Reads what `llama-speculative`, its simple form and `llama-lookup` print after their answer: one load per answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks

TOOL, LOOKUP = "llama-speculative", "llama-lookup"
PROGRAM = re.compile(r"\bllama-(?:speculative(?:-simple)?|lookup)\b")
NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
SPEED = re.compile(
    rf"\s{{0,12}}(?P<part>encoded|decoded) {{1,12}}(?P<tokens>\d{{1,12}}) tokens in {{1,12}}(?P<seconds>{NUMBER}) "
    rf"seconds, speed: {{1,12}}(?P<tps>{NUMBER}) t/s\s*"
)
FACT = re.compile(
    rf"\s{{0,12}}(?P<name>n_draft|n_predict|n_drafted|n_accept|accept) {{1,12}}= (?P<value>{NUMBER})%?\s*"
)
DRAFT_TIME = re.compile(rf"\s{{0,12}}t_draft(?:_\w{{1,20}})? {{1,12}}= {NUMBER} .{{1,80}}")
PARTS = {"encoded": ("prompt_tps", "prompt_ms"), "decoded": ("decode_tps", "decode_ms")}
TOTALS = {"n_drafted": "draft tokens", "n_accept": "accepted draft tokens"}


def has_printed(content: str) -> bool:
    """Return whether a text contains the speed of a prompt or an answer, and the share of accepted tokens."""
    names = [match["name"] for line in content.splitlines() if (match := FACT.fullmatch(line[:100]))]
    return "accept" in names and any(SPEED.fullmatch(line[:200]) for line in content.splitlines())


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each answer of a text, and the text with the lines about it left empty."""
    if not has_printed(content):
        return [], content
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    return blocks_among(lines, _is_opening, _is_following)


def _is_opening(line: str) -> bool:
    match = SPEED.fullmatch(line[:200])
    return match is not None and match["part"] == "encoded"


def _is_following(line: str) -> bool:
    match = SPEED.fullmatch(line[:200])
    is_answer = match is not None and match["part"] == "decoded"
    is_fact = FACT.fullmatch(line[:100]) is not None or DRAFT_TIME.fullmatch(line[:120]) is not None
    return not line.strip() or is_answer or is_fact


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    speeds = {match["part"]: match for line in block.lines if (match := SPEED.fullmatch(line[:200]))}
    facts = {match["name"]: float(match["value"]) for line in block.lines if (match := FACT.fullmatch(line[:100]))}
    tool = LOOKUP if any(DRAFT_TIME.fullmatch(line[:120]) for line in block.lines) else TOOL
    load = LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, model=model_of(block.command))
    lengths = [int(speeds[part]["tokens"]) if part in speeds else None for part in PARTS]
    point = MeasurementPoint("one request", 1, *lengths)
    for part, match in speeds.items():
        speed, duration = PARTS[part]
        load.result(point, speed, STATED, float(match["tps"]))
        load.result(point, duration, STATED, float(match["seconds"]), factor=1e3)
    for name, words in TOTALS.items():
        if name in facts:
            load.result(point._replace(name=f"{point.name}: {words}"), STATED, "total", facts[name], unit="tokens")
    if "accept" in facts:
        load.result(point, "acceptance_rate", "mean", facts["accept"], factor=1e-2)
    load.params |= {name: int(facts[name]) for name in ("n_draft", "n_predict") if name in facts}
    draft_model = block.command.flags.get("md", block.command.flags.get("model_draft"))
    load.params |= {"model_draft": draft_model} if draft_model else {}
    return load
