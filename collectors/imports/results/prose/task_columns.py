"""Reads tables whose columns are tasks of an evaluation and whose plain numbers are shares: '| arc_easy | piqa |'."""

from __future__ import annotations

import re
from decimal import Decimal

from collectors.imports.results.prose.metric_names import TASK, words
from collectors.imports.results.prose.tables import Table

_SHARE = re.compile(r"\W{0,4}(?P<share>[01]?\.\d{2,6})\W{0,4}")
_EMPTY = ("", "-", "–", "—", "n/a", "N/A")
_DERIVED = words(r"\W*(?:avg|average|mean|overall|(?:% ?)?recovery(?: ?\(?%\)?)?)\W*")  # of the columns beside it
_LEAST_TASKS = 2


def with_shares_of_tasks(table: Table) -> Table:
    """Return a table with the shares of its tasks in %, and without the mean of them; others as they are."""
    columns = range(len(table.heads))
    tasks = [at for at in columns if _is_task(table.heads[at]) and _has_shares(table, at)]
    if len(tasks) < _LEAST_TASKS:
        return table
    derived = [at for at in columns if _DERIVED.fullmatch(table.heads[at])]
    return table._replace(
        rows=[[_cell(cell, at in tasks, at in derived) for at, cell in enumerate(row)] for row in table.rows]
    )


def _is_task(head: str) -> bool:
    return TASK.fullmatch(head.strip(" *`").replace(" ", "_")) is not None


def _has_shares(table: Table, column: int) -> bool:
    cells = [row[column].strip() for row in table.rows if column < len(row)]
    return any(map(_SHARE.fullmatch, cells)) and all(cell in _EMPTY or _SHARE.fullmatch(cell) for cell in cells)


def _cell(cell: str, is_task: bool, is_derived: bool) -> str:
    match = _SHARE.fullmatch(cell.strip()) if is_task else None
    return f"{Decimal(match['share']) * 100:f}%" if match else "" if is_derived else cell
