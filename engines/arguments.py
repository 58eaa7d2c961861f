"""Converts arguments as a log prints them (a dict, a Namespace, a dataclass) to the argv that would set them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping

from domain import JsonValue
from python_syntax import evaluate_literal

_PAIR = re.compile(
    r"\b(?P<name>[a-z]\w{1,60})['\"]?(?:=|: )"
    r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|\['(?P<first>[^']*)'\]|(?P<bare>-?[\w./+-]+)(?=[,)\]}\s]))"
)  # a bare value at the end of the text may be cut
_CONSTANTS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}


def argument_name(flag: str) -> str:
    """Return the program's name for a flag: 'max_model_len' for '--max-model-len'."""
    return flag.removeprefix("--").replace("-", "_")


def read_pairs(text: str, names: Collection[str]) -> dict[str, JsonValue]:
    """Return the named ones of 'name=value' or \"'name': value\" pairs; the first of each name, without None."""
    values: dict[str, JsonValue] = {}
    for pair in _PAIR.finditer(text):
        quoted = next((pair[group] for group in ("single", "double", "first") if pair[group] is not None), None)
        value = _CONSTANTS.get(pair["bare"], pair["bare"]) if quoted is None else quoted
        if pair["name"] in names and value is not None:
            values.setdefault(pair["name"], value)
    return values


def read_dict(text: str) -> dict[str, JsonValue] | None:
    """Parse a printed Python dict of plain values; None for anything else, such as a truncated one."""
    try:
        value = evaluate_literal(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def to_argv(arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return the flags that state these arguments: '--no-…' for False, JSON for a dict, nothing for None."""
    words: list[str] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, dict):
            words += [f"--{flag}", json.dumps(value, separators=(",", ":"), default=str)]
        else:
            words += [f"--{flag}", *(str(item) for item in (value if isinstance(value, list | tuple) else [value]))]
    return words
