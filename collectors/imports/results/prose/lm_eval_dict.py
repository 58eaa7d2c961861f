"""Reads the results that a script of lm-eval prints as a Python dictionary: one load with an accuracy per metric."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.tools import lm_eval
from reasons import Code, Reason

_TASK = re.compile(r"['\"]?(?P<task>[\w-]{1,80})['\"]?: ?\{'alias': ?'[^']{1,120}'(?P<values>[^{}]{1,4000})\}")
_VALUE = re.compile(r"'(?P<metric>\w{1,60}),(?P<filter>[\w-]{1,60})': ?(?P<value>\d(?:\.\d{1,20})?)(?=[,\s]|$)")
_STDERR = "_stderr"


def has_printed(content: str) -> bool:
    """Return whether a text contains such a dictionary with an accuracy."""
    return "{'alias'" in content and any(any(_values(match["values"])) for match in _TASK.finditer(content))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load with all accuracies of a text, and the text with the dictionaries left empty."""
    if not has_printed(content):
        return [], content
    load = LoadBuilder(ticket, lm_eval.TOOL, None, lm_eval.TOOL, ticket.file_date, number=first_number)
    for match in _TASK.finditer(content):
        for metric, filter_name, value, stderr in _values(match["values"]):
            load.accuracy(
                task=match["task"], filter=filter_name, metric=metric, value=value, stderr=stderr, version=None,
                protocol_hash=None, protocol={}, reason=Reason(Code.ITEM_COUNT_NOT_TOLD),
            )  # fmt: skip
    return [load], _TASK.sub(lambda match: "\n" * match[0].count("\n"), content)


def _values(written: str) -> Iterator[tuple[str, str, float, float | None]]:
    """Yield metric, filter, value and standard error of what is a share."""
    values = {(match["metric"], match["filter"]): float(match["value"]) for match in _VALUE.finditer(written)}
    for (metric, filter_name), value in values.items():
        if not metric.endswith(_STDERR) and value <= 1:
            yield metric, filter_name, value, values.get((f"{metric}{_STDERR}", filter_name))
