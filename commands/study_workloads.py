"""The workloads of a study's file, and what distinguishes them: a label, or the name and the params that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from domain import JsonValue

MOST_SHOWN = 40  # characters of a param's value within a title


def _readable(name: str) -> str:
    """A name stands in tables, terminals and reports; raises ValueError, for pydantic."""
    if not (name.isprintable() and name.strip()):
        raise ValueError("a name has characters that can be seen, and no line breaks")
    return name


Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_readable)]


class WorkloadText(BaseModel):
    """A load, and by what it is judged where that is not what it is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Name
    label: Name | None = None  # what it is called, beside others of its name
    params: dict[str, JsonValue] = Field(default_factory=dict)
    objective: str | None = None


def titles(workloads: Sequence[WorkloadText]) -> list[str]:
    """What each is called: 'ladder', 'grid (prompt_tokens [512])'; raises ValueError where two are called alike."""
    if alike := _twice([f"{one.name} {json.dumps(one.params, sort_keys=True)}" for one in workloads]):
        raise ValueError(f"two workloads are alike: {alike[:200]}")
    found = [_title(one, workloads) for one in workloads]
    if twice := _twice(found):
        raise ValueError(f"two workloads are called {twice!r}: give each a label")
    return found


def _title(mine: WorkloadText, workloads: Sequence[WorkloadText]) -> str:
    about = ", ".join(_differing(mine, workloads))
    return mine.label or (f"{mine.name} ({about})" if about else mine.name)


def _differing(mine: WorkloadText, workloads: Sequence[WorkloadText]) -> Iterator[str]:
    """Its own params that another workload of its name has not, or not so."""
    others = [one for one in workloads if one.name == mine.name]
    for name, value in mine.params.items():
        if any(name not in one.params or one.params[name] != value for one in others):
            yield f"{name} {_shown(value)}"


def _shown(value: JsonValue) -> str:
    return (value if isinstance(value, str) else json.dumps(value))[:MOST_SHOWN]


def _twice(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
