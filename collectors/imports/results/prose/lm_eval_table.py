"""Reads the tables that lm-eval and lighteval print: one load per table, one accuracy per task, filter and metric.

People retype them without tasks and versions; then the task is the only one that the text names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.metric_names import TASK
from collectors.imports.results.prose.tables import RULE, cells_of
from collectors.imports.results.tools import lm_eval
from collectors.imports.results.tools.printed_block import PrintedBlock, model_of, read_blocks
from domain import JsonValue
from reasons import Code, Reason

LIGHTEVAL = "lighteval"
PROGRAM = re.compile(  # its command, or the line that it prints above the table: 'vllm (pretrained=...'
    r"\blm[_-]eval\b|\blighteval\b|^\s{0,8}[\w-]{2,30} \((?=(?:pretrained|model)=)"
)
NEEDED = {"metric", "value", "stderr"}
TASK_HEADS = ("tasks", "task", "groups")
MODEL_ARGUMENT = re.compile(r"(?:\b|\")(?:pretrained|model|model_name)=(?P<model>[^\s,\"']{1,300})")
NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?")
NONE = "none"
NO_TASK = "not stated"


def has_printed(content: str) -> bool:
    """Return whether a text contains the head of such a table."""
    return "Stderr" in content and any(_is_head(line) for line in content.splitlines())


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each table of a text, and the text with the tables left empty."""
    names = {name.lower() for name in TASK.findall(content)}
    load_of = partial(_load_of, only_task=names.pop() if len(names) == 1 else NO_TASK)
    return read_blocks(content, _blocks, PROGRAM, load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(lines) - 1:
        end = index + 1
        if _is_head(lines[index]) and RULE.fullmatch(lines[index + 1][:4_000]):
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield index, end
        index = end


def _is_head(line: str) -> bool:
    if "Stderr" not in line or len(line) > 1_000:
        return False
    heads = [cell.lower() for cell in cells_of(line)]
    is_printed = set(heads) >= {"version", "metric", "value"} and heads[0] in TASK_HEADS
    return is_printed or set(heads) >= NEEDED


def _load_of(block: PrintedBlock, ticket: Ticket, number: int, only_task: str = NO_TASK) -> LoadBuilder:
    heads = [cell.lower() for cell in cells_of(block.lines[0])]
    has_tasks = heads[0] in TASK_HEADS
    tool = lm_eval.TOOL if "filter" in heads or not has_tasks else LIGHTEVAL
    argument = MODEL_ARGUMENT.search(block.command.words)
    model = argument["model"] if argument else model_of(block.command)
    load = LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, model=model)
    task, version, filter_name = "" if has_tasks else only_task, "", ""
    for row, line in enumerate(block.lines[2:], 3):
        cells = {head: cell.strip("*` ±") for head, cell in zip(heads, cells_of(line), strict=False)}
        name = cells.get(heads[0], "") if has_tasks else ""
        if name:
            task, version = name, cells.get("version", "")
        filter_name = cells.get("filter", "") or (filter_name if not name else "") or NONE
        _add_row(load, cells, task, version, filter_name, row)
    return load


def _add_row(
    load: LoadBuilder, cells: dict[str, str], task: str, version: str, filter_name: str, row: int
) -> None:  # fmt: skip
    """Add a row; a value above 1 is no share, but a figure such as a perplexity."""
    if not NUMBER.fullmatch(cells.get("value", "")) or not task or not cells.get("metric"):
        load.notes.append(f"Row {row} of the table was left out: it has no task, metric or value.")
        return
    value, stderr, shots = float(cells["value"]), cells.get("stderr", ""), cells.get("n-shot", "")
    if value > 1 or "perplexity" in cells["metric"]:
        point = MeasurementPoint(f"{task.strip('- ')}, {filter_name}: {cells['metric']}")
        load.result(point, STATED, STATED, value, unit="1")
        return
    protocol: dict[str, JsonValue] = {"num_fewshot": int(shots)} if shots.isdigit() else {}
    load.accuracy(
        task=task.strip("- "), filter=filter_name, metric=cells["metric"], value=value,
        stderr=float(stderr) if NUMBER.fullmatch(stderr) else None, version=version or None, protocol_hash=None,
        protocol=protocol, reason=Reason(Code.ITEM_COUNT_NOT_TOLD),
    )  # fmt: skip
