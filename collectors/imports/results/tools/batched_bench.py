"""Reads the JSON lines of `llama-batched-bench` and `llama-sweep-bench`, and adds the rows of their tables.

The speeds of a batch are those of all its sequences together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile, parse_json
from collectors.imports.results.values import count, cut, dict_of, digest
from domain import JsonValue

BATCHED, SWEEP = "llama-batched-bench", "llama-sweep-bench"
OF_POINT = ("pp", "tg", "pl", "n_kv")
MEMORY = {"rss_hwm_mib": "highest resident memory", "vram_delta_mib": "GPU memory taken"}
OF_ROW = {*OF_POINT, *MEMORY, "t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed"}


def recognise(head: str) -> bool:
    """Return whether a file has lines of these tools; messages of the engine may stand between them."""
    return any(_is_row(line) for line in head.splitlines())


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each configuration of a file; raises ImportRefusedError."""
    loads: dict[str, LoadBuilder] = {}
    other_lines = 0
    for line, content in source.lines():
        if not _is_row(content):
            other_lines += bool(content.strip())
            continue
        row = dict_of(parse_json(content, source.name, line))
        config = {name: cut(value) for name, value in row.items() if name not in OF_ROW}
        key = digest([config, "pl" in row])
        if key not in loads:
            loads[key] = new_load(ticket, "pl" in row, config, len(loads))
        if not add_row(loads[key], row, line):
            raise source.refusal(line, "this is not a complete line: PP or TG is missing")
    first_load = next(iter(loads.values()))
    if other_lines:
        first_load.notes.append(f"{other_lines:,} lines that are no results were left out.")
    return list(loads.values())


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("{") and '"speed_pp"' in line and '"speed_tg"' in line


def new_load(ticket: Ticket, is_batched: bool, config: Mapping[str, JsonValue], number: int) -> LoadBuilder:
    """Return a load without rows."""
    tool = BATCHED if is_batched else SWEEP
    return LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, params=dict(config))


def add_row(load: LoadBuilder, row: Mapping[str, Any], line: int) -> bool:
    """Add one row, by the names of the JSON lines; returns whether it is complete."""
    prompt_tokens, output_tokens, batch, kv_tokens = (count(row.get(name)) for name in OF_POINT)
    is_batched = load.tool == BATCHED
    if prompt_tokens is None or output_tokens is None or (is_batched and batch is None):
        return False
    point = _point(load, prompt_tokens, output_tokens, batch if is_batched else None, kv_tokens, line)
    decode_metric = "batch_decode_tps" if is_batched else "decode_tps"
    if prompt_tokens:
        _add(load, point, "prompt_tps", row, "speed_pp")
        _add(load, point, "prompt_ms", row, "t_pp", 1e3)
    if output_tokens:
        _add(load, point, decode_metric, row, "speed_tg")
        _add(load, point, "decode_ms", row, "t_tg", 1e3)
    _add(load, point, "total_tps", row, "speed")
    _add(load, point, "duration_s", row, "t", statistic="total")
    for name, words in MEMORY.items():
        if isinstance(row.get(name), int | float):  # null, or n/a, where it is not measured
            load.result(point._replace(name=f"{point.name}: {words}"), STATED, "max", row[name], unit="MiB")
    return True


def _point(
    load: LoadBuilder, prompt_tokens: int, output_tokens: int, batch: int | None, kv_tokens: int | None, line: int
) -> MeasurementPoint:
    """Return the point; in a sweep N_KV is the depth, in a batch the tokens of all sequences at the end."""
    kv_text = "" if kv_tokens is None else f" N_KV{kv_tokens}" if batch else f" @ d{kv_tokens}"
    name = f"pp{prompt_tokens} tg{output_tokens}{f' B{batch}' if batch else ''}{kv_text}"
    is_repeated = any(result.point == name for result in load.result_rows)
    return MeasurementPoint(
        f"{name} (line {line})" if is_repeated else name, batch or 1, prompt_tokens, output_tokens,
        0 if batch else kv_tokens,
    )  # fmt: skip


def _add(
    load: LoadBuilder, point: MeasurementPoint, metric: str, row: Mapping[str, Any], name: str, factor: float = 1.0,
    statistic: str = "mean",
) -> None:  # fmt: skip
    if name in row:
        load.result(point, metric, statistic, row[name], factor=factor)
