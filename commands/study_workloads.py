"""The workloads of a study file and their titles: a label, or the name and the params that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from domain import JsonValue

MAX_VALUE_CHARACTERS = 40  # of a param's value in a title


def _readable(name: str) -> str:
    """Check that a name can be shown in tables, terminals and reports; raises ValueError, for pydantic."""
    if not (name.isprintable() and name.strip()):
        raise ValueError("a name needs visible characters and must not contain line breaks")
    return name


Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_readable)]


class WorkloadText(BaseModel):
    """A workload, and its objective if it is not the default."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Name
    label: Name | None = None  # title, to distinguish workloads with the same name
    params: dict[str, JsonValue] = Field(default_factory=dict)
    objective: str | None = None


def titles(workloads: Sequence[WorkloadText]) -> list[str]:
    """Return the title of each: 'ladder', 'grid (prompt_tokens [512])'; raises ValueError for duplicates."""
    if duplicate := _first_duplicate(
        [f"{workload.name} {json.dumps(workload.params, sort_keys=True)}" for workload in workloads]
    ):
        raise ValueError(f"two workloads are identical: {duplicate[:200]}")
    all_titles = [_title(workload, workloads) for workload in workloads]
    if duplicate_title := _first_duplicate(all_titles):
        raise ValueError(f"two workloads have the title {duplicate_title!r}: give each a label")
    return all_titles


def _title(workload: WorkloadText, workloads: Sequence[WorkloadText]) -> str:
    differences = ", ".join(_differing(workload, workloads))
    return workload.label or (f"{workload.name} ({differences})" if differences else workload.name)


def _differing(workload: WorkloadText, workloads: Sequence[WorkloadText]) -> Iterator[str]:
    """The params that another workload with the same name lacks or sets differently."""
    namesakes = [candidate for candidate in workloads if candidate.name == workload.name]
    for name, value in workload.params.items():
        if any(name not in namesake.params or namesake.params[name] != value for namesake in namesakes):
            yield f"{name} {_value_text(value)}"


def _value_text(value: JsonValue) -> str:
    return (value if isinstance(value, str) else json.dumps(value))[:MAX_VALUE_CHARACTERS]


def _first_duplicate(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
