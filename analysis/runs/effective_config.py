"""Requested settings of a server beside the effective ones that its log states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engines import BY_NAME

CONFIG_FIELDS = {
    "num_spec_tokens": "speculative.num_tokens",
    "speculative_algorithm": "speculative.method",
    "speculative_method": "speculative.method",
    "max_running_requests": "max_num_seqs",
}
OPEN_CHOICES = {"auto", "true", ""}
NOT_CONFIGURATION = {"ready", "time_to_ready_s"}
REPEATED_FACTS = {"kv_pools"}  # the log has one line per value, and all are in effect
LARGEST_FACTS = {"model_load_gib"}  # each rank logs its own, in any order
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
    """One fact of a start-up log and its line."""

    key: str
    value: Any
    line: int | None


class EffectiveRow(NamedTuple):
    """One field; None if it was not requested, or the log does not state it."""

    field: str
    requested: Any
    effective: Any
    line: int | None
    differs: bool  # a definite value was requested and another one is in effect


def effective_rows(requested: Mapping[str, Any], engine: str, settings: Sequence[LogFact]) -> list[EffectiveRow]:
    """Return the requested fields (dotted keys) with the log's values, then fields only in the log; the last line wins.

    Repeated facts list all distinct values of the last start; of the weights' memory the largest rank's counts.
    """
    names = {**CONFIG_FIELDS, **(BY_NAME[engine].effective_names if engine in BY_NAME else {})}
    facts = {names.get(fact.key, fact.key): fact for fact in settings if fact.key not in NOT_CONFIGURATION}
    facts |= {key: _all_of(key, settings) for key in REPEATED_FACTS & facts.keys()}
    facts |= {key: _largest_of(key, settings) for key in LARGEST_FACTS & facts.keys()}
    keys = [*requested, *(key for key in facts if key not in requested)]
    return [_row(key, requested.get(key), facts.get(key)) for key in keys]


def _all_of(key: str, settings: Sequence[LogFact]) -> LogFact:
    """Return the distinct values of a key in the last start, with the last line."""
    key_facts = _facts_of_last_start(key, settings)
    values = [
        fact.value for i, fact in enumerate(key_facts) if fact.value not in [earlier.value for earlier in key_facts[:i]]
    ]
    return LogFact(key, values, key_facts[-1].line)


def _largest_of(key: str, settings: Sequence[LogFact]) -> LogFact:
    """Return the fact with the largest value in the last start."""
    return max(_facts_of_last_start(key, settings), key=lambda fact: float(fact.value))


def _facts_of_last_start(key: str, settings: Sequence[LogFact]) -> list[LogFact]:
    """Return a key's facts since the previous start was ready."""
    key_facts: list[LogFact] = []
    was_ready = False
    for fact in settings:
        if fact.key == key:
            key_facts = [fact] if was_ready else [*key_facts, fact]
            was_ready = False
        was_ready = was_ready or fact.key == "ready"
    return key_facts


def _row(key: str, requested: Any, fact: LogFact | None) -> EffectiveRow:
    if fact is None:
        return EffectiveRow(key, requested, None, None, False)
    return EffectiveRow(key, requested, fact.value, fact.line, _is_different(key, requested, fact.value))


def _is_different(field: str, requested: Any, effective: Any) -> bool:
    """Whether the values differ; 'fp8_e4m3' equals 'float8_e4m3fn', 4 equals '4', and 'auto' matches any value."""
    requested_value, effective_value = _normal(requested), _normal(effective)
    if requested is None or requested_value in OPEN_CHOICES or requested_value == effective_value:
        return False
    if field == "speculative.method":
        return _method(str(requested_value)) != _method(str(effective_value))
    # An engine appends the kernel to the requested method: 'awq' runs as 'awq_marlin'.
    return not (field == "quantization" and str(effective_value).startswith(f"{requested_value}_"))


def _method(name: str) -> str:
    """Normalise the method: vLLM calls the MTP of every model 'mtp', and SGLang's NEXTN is its EAGLE."""
    return "mtp" if name.endswith("_mtp") else "eagle" if name == "nextn" else name


def _normal(value: Any) -> str | float:
    """Normalise a value: numbers as floats, data types under one name, other text in lower case."""
    text = str(value).strip().lower().removeprefix("torch.")
    try:
        return float(text)
    except ValueError:
        return _DTYPES.get(text, text)
