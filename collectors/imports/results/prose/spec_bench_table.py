"""Reads the table of llama-spec-bench: how fast each task was generated, and how many draft tokens were accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.tools.printed_block import NO_COMMAND, command_among, model_of
from domain import JsonValue

TOOL = "llama-spec-bench"
PROGRAM = re.compile(r"\bllama-spec-bench\b")
NEEDED = {"task", "stage", "tokens", "tok/s", "accepted", "rate"}
NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
ACCEPTED = re.compile(r"(?P<accepted>\d{1,12})/(?P<draft>\d{1,12})")
SHARE = re.compile(r"(?P<percent>\d{1,3}(?:\.\d{1,6})?)%")
NO_VALUE = ("", "-")
TIMES = {"tokens": ("completion_tokens", "total"), "time(s)": ("duration_s", "total"), "tok/s": ("decode_tps", STATED)}
DRAFT_UNIT, ROUND_UNIT = "tokens", "rounds"
FLAGS = ("spec_type", "ctx_size", "c", "ctk", "ctv", "n_gpu_layers", "ngl", "predict", "temp", "seed")


def is_spec_bench(table: Table) -> bool:
    """Return whether a table has the columns of llama-spec-bench."""
    return {head.lower() for head in table.heads} >= NEEDED


def read(tables: Sequence[Table], content: str, ticket: Ticket, number: int) -> LoadBuilder:
    """Return the load of a text's tables; the command above them names the model."""
    above = content.splitlines()[: tables[0].line - 1]
    command = command_among(above, PROGRAM) or NO_COMMAND
    load = LoadBuilder(
        ticket,
        TOOL,
        None,
        TOOL,
        ticket.file_date,
        number=number,
        model=model_of(command),
        params=command.values(FLAGS),
        line=tables[0].line,
    )
    stops: dict[str, JsonValue] = {}
    for table in tables:
        heads = [head.lower() for head in table.heads]
        for row in table.rows:
            cells = {head: cell for head, cell in zip(heads, row, strict=False) if cell not in NO_VALUE}
            point = _point(cells, [*stops])
            _add_row(load, point, cells)
            stops[point.name] = cells.get("stop", "not stated")
    load.params["stops"] = stops
    return load


def _point(cells: Mapping[str, str], names: Sequence[str]) -> MeasurementPoint:
    run = f"run {cells['run']}" if "run" in cells else ""
    name = ", ".join(filter(None, (cells.get("task"), run, cells.get("stage"))))
    return MeasurementPoint(name if name not in names else f"{name} (number {len(names) + 1})", 1)


def _add_row(load: LoadBuilder, point: MeasurementPoint, cells: Mapping[str, str]) -> None:
    for head, (metric, statistic) in TIMES.items():
        if head in cells:
            load.result(point, metric, statistic, _number(cells[head]))
    if "rounds" in cells:
        rounds_point = point._replace(name=f"{point.name}: rounds")
        load.result(rounds_point, STATED, STATED, _number(cells["rounds"]), unit=ROUND_UNIT)
    if accepted := ACCEPTED.fullmatch(cells.get("accepted", "")):
        for name, tokens in (("accepted draft tokens", accepted["accepted"]), ("draft tokens", accepted["draft"])):
            draft_point = point._replace(name=f"{point.name}: {name}")
            load.result(draft_point, STATED, "total", int(tokens), unit=DRAFT_UNIT)
    if rate := SHARE.fullmatch(cells.get("rate", "")):
        load.result(point, "acceptance_rate", "mean", _share(rate))
    if "a.len" in cells:
        load.result(point, "acceptance_length", "mean", _number(cells["a.len"]))
    for position, share in enumerate(SHARE.finditer(cells.get("pos accept", ""))):
        position_point = point._replace(name=f"{point.name}, draft position {position}")
        load.result(position_point, "position_acceptance_rate", "mean", _share(share))


def _share(match: re.Match[str]) -> float:
    return round(float(match["percent"]) / 100, 9)


def _number(cell: str) -> float | str:
    return float(cell) if NUMBER.fullmatch(cell) else cell
