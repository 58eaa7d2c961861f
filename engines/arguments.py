"""Converts arguments as a log prints them (a dict, a Namespace, a dataclass) to the argv that would set them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping

from domain import JsonValue

_PAIR = re.compile(
    r"\b(?P<name>[a-z]\w{1,60})['\"]?(?:=|: )"
    r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|\['(?P<first>[^']*)'\]|(?P<bare>-?[\w.+-]+))"
)
_CONSTANTS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}


def argument_name(flag: str) -> str:
    """'--max-model-len' as it is called in the program: 'max_model_len'."""
    return flag.removeprefix("--").replace("-", "_")


def read_pairs(text: str, wanted: Collection[str]) -> dict[str, JsonValue]:
    """The wanted ones of 'name=value' or \"'name': value\" pairs; of several the first, what is None left out."""
    found: dict[str, JsonValue] = {}
    for pair in _PAIR.finditer(text):
        quoted = next((pair[group] for group in ("single", "double", "first") if pair[group] is not None), None)
        value = _CONSTANTS.get(pair["bare"], pair["bare"]) if quoted is None else quoted
        if pair["name"] in wanted and value is not None:
            found.setdefault(pair["name"], value)
    return found


def read_dict(text: str) -> dict[str, JsonValue] | None:
    """A Python dict of plain values as it was printed; None for anything else, a cut one for example."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def words_of(arguments: Mapping[str, JsonValue]) -> list[str]:
    """The flags that state these arguments: '--no-…' for False, JSON for a dict, nothing for None."""
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
            words += [f"--{flag}", *(str(one) for one in (value if isinstance(value, list | tuple) else [value]))]
    return words
