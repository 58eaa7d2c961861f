"""What was asked of a server beside what it says it started with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engines import BY_NAME

SAME = {
    "num_spec_tokens": "speculative.num_tokens",
    "speculative_algorithm": "speculative.method",
    "max_running_requests": "max_num_seqs",
}
OPEN_CHOICES = {"auto", "true", ""}
NOT_CONFIGURATION = {"ready", "time_to_ready_s"}


class Told(NamedTuple):
    """One fact of a start-up log and the line that says it."""

    key: str
    value: Any
    line: int | None


class Row(NamedTuple):
    """One field; None where it was not asked for, or the log does not say it."""

    field: str
    asked: Any
    effective: Any
    line: int | None
    differs: bool  # something definite was asked and something else came of it


def effective_rows(asked: Mapping[str, Any], engine: str, told: Sequence[Told]) -> list[Row]:
    """The asked fields (dotted keys) with what the log says of them, then what it alone says; the last line wins."""
    names = {**SAME, **(BY_NAME[engine].effective_names if engine in BY_NAME else {})}
    said = {names.get(one.key, one.key): one for one in told if one.key not in NOT_CONFIGURATION}
    keys = [*asked, *(key for key in said if key not in asked)]
    return [_row(key, asked.get(key), said.get(key)) for key in keys]


def _row(key: str, asked: Any, told: Told | None) -> Row:
    if told is None:
        return Row(key, asked, None, None, False)
    return Row(key, asked, told.value, told.line, _is_other(asked, told.value))


def _is_other(asked: Any, effective: Any) -> bool:
    """'fp8' and 'fp8_e4m3', 'bfloat16' and 'torch.bfloat16' are one choice; 'auto' leaves it open."""
    one, other = (str(value).lower().removeprefix("torch.") for value in (asked, effective))
    if asked is None or one in OPEN_CHOICES:
        return False
    return not (one.startswith(other) or other.startswith(one))
