"""What was asked of a server beside what it says it started with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engines import BY_NAME

SAME = {
    "num_spec_tokens": "speculative.num_tokens",
    "speculative_algorithm": "speculative.method",
    "speculative_method": "speculative.method",
    "max_running_requests": "max_num_seqs",
}
OPEN_CHOICES = {"auto", "true", ""}
NOT_CONFIGURATION = {"ready", "time_to_ready_s"}
SEVERAL = {"kv_pools"}  # a server says one a line, and has them all
# Spellings of one data type; 'fp8' alone is e4m3 to every engine, and AMD's e4m3 has a name of its own.
_DTYPES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "f16": "float16",
    "fp32": "float32",
    "float": "float32",
    "f32": "float32",
    "fp8": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e4m3fn": "float8_e4m3fn",
    "fp8_e4m3fnuz": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2",
}


class LogFact(NamedTuple):
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


def effective_rows(asked: Mapping[str, Any], engine: str, settings: Sequence[LogFact]) -> list[Row]:
    """The asked fields (dotted keys) with what the log says of them, then what it alone says; the last line wins.

    Of what a server has several of, all that its last start says are listed, each once.
    """
    names = {**SAME, **(BY_NAME[engine].effective_names if engine in BY_NAME else {})}
    said = {names.get(one.key, one.key): one for one in settings if one.key not in NOT_CONFIGURATION}
    said |= {key: _all_of(key, settings) for key in SEVERAL & said.keys()}
    keys = [*asked, *(key for key in said if key not in asked)]
    return [_row(key, asked.get(key), said.get(key)) for key in keys]


def _all_of(key: str, settings: Sequence[LogFact]) -> LogFact:
    """Every value of a key since the start before was ready, ranks that say the same counted once; the last line."""
    found: list[LogFact] = []
    was_ready = False
    for one in settings:
        if one.key == key:
            found = [one] if was_ready else [*found, one]
            was_ready = False
        was_ready = was_ready or one.key == "ready"
    values = [one.value for i, one in enumerate(found) if one.value not in [other.value for other in found[:i]]]
    return LogFact(key, values, found[-1].line)


def _row(key: str, asked: Any, used: LogFact | None) -> Row:
    if used is None:
        return Row(key, asked, None, None, False)
    return Row(key, asked, used.value, used.line, _is_other(key, asked, used.value))


def _is_other(field: str, asked: Any, effective: Any) -> bool:
    """'fp8_e4m3' and 'float8_e4m3fn', 4 and '4' are one choice; 'auto' leaves it open."""
    one, other = _normal(asked), _normal(effective)
    if asked is None or one in OPEN_CHOICES or one == other:
        return False
    if field == "speculative.method":
        return _method(str(one)) != _method(str(other))
    # An engine names the kernel beside the method that was asked for: 'awq' runs as 'awq_marlin'.
    return not (field == "quantization" and str(other).startswith(f"{one}_"))


def _method(name: str) -> str:
    """vLLM calls the MTP of every model 'mtp', and SGLang's NEXTN is its EAGLE."""
    return "mtp" if name.endswith("_mtp") else "eagle" if name == "nextn" else name


def _normal(value: Any) -> str | float:
    """Numbers as numbers, data types under one name, other text without regard to case."""
    text = str(value).strip().lower().removeprefix("torch.")
    try:
        return float(text)
    except ValueError:
        return _DTYPES.get(text, text)
