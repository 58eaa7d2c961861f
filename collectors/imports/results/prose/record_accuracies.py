"""Finds shares of right answers among the values of a record: `mmlu_accuracy`, or 'accuracy' beside its task."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.prose.metric_names import TASK, words
from collectors.imports.results.prose.record_files import Record
from collectors.imports.results.prose.value_names import is_number, leaf_words, value_name_of
from reasons import Code, Reason

_NAME = words(r"(?P<task>.{0,60}?) ?\b(?:accuracy|acc|exact match|pass(?: at |@)1)(?: (?:score|mean|overall))?")
_TASK_NAMES = ("task", "task name", "dataset", "eval", "benchmark", "bench", "suite")
MAX_TASK_CHARS = 200


def names_of_accuracies(records: Iterable[Record]) -> set[str]:
    """Return the names of accuracies: what is always 0 or 1 scores single answers."""
    return {
        name for record in records for name, value in record.values.items()
        if is_number(value) and (accuracy := _accuracy(record, name, value)) and 0 < accuracy[1] < 1
    }  # fmt: skip


def add_accuracies(load: LoadBuilder, record: Record, names: Collection[str], point_name: str) -> None:
    """Add the accuracies of a record; how many items were asked is not read."""
    accuracies = [_accuracy(record, name, record.values[name]) for name in record.values if name in names]
    for task, share in filter(None, accuracies):
        load.accuracy(
            task=f"{task}: {point_name}"[:MAX_TASK_CHARS], filter="none", metric="accuracy", value=share,
            reason=Reason(Code.ITEM_COUNT_NOT_TOLD),
        )  # fmt: skip


def _accuracy(record: Record, name: str, value: Any) -> tuple[str, float] | None:
    """Return task and share; None for a value of another name, or of no known task."""
    column = value_name_of(name)
    leaf = value_name_of(leaf_words(name)).words
    match = _NAME.fullmatch(leaf)
    is_task_alone = TASK.fullmatch(leaf.replace(" ", "_")) is not None
    if not (match or is_task_alone) or column.unit not in (None, "%") or not is_number(value):
        return None
    share = value / (100 if column.unit == "%" else 1)
    own_task = (match["task"] if match else leaf).strip()
    around = name.split(" ")[:-1]
    if not TASK.search(own_task):
        first = next((at for at, part in enumerate(around) if TASK.search(part)), len(around))
        own_task = " ".join(around[first:])
    task = own_task or (None if around else _task_beside(record))
    return (task, round(share, 9)) if task and 0 <= share <= 1 else None


def _task_beside(record: Record) -> str | None:
    """Return the task that another value of a record names."""
    values = (*record.values.items(), *record.settings.items())
    return next(
        (item for name, item in values if leaf_words(name) in _TASK_NAMES and isinstance(item, str) and item), None
    )
