"""Settings files whose keys are the engine's flags (`--config FILE` of vLLM and SGLang)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engines.flag_table import FlagTable

MOST_NODES = 2000  # of one setting


def words_of_settings(settings: Mapping[str, Any], table: FlagTable) -> list[str]:
    """Return the flags that the settings stand for; scalars are texts as written."""
    words: list[str] = []
    for name, value in settings.items():
        words += _words(f"--{name}", value, table)
    return words


def _words(flag: str, value: Any, table: FlagTable) -> Sequence[str]:
    row = table.find(flag)[0]
    if isinstance(value, str) and row and row.takes == "switch":
        if value.lower() == "true":
            return [flag]
        return [f"--no-{flag[2:]}"] if value.lower() == "false" and table.find(f"--no-{flag[2:]}")[0] else []
    if isinstance(value, list):
        return [flag, *(item for item in value if isinstance(item, str))]
    if isinstance(value, str):
        return [flag, value]
    return [flag, json.dumps(_typed(value))] if _is_small(value) else []


def _is_small(value: Any) -> bool:
    """Whether a nested setting has at most MOST_NODES nodes, each alias counted anew."""
    pending, count = [value], 0
    while pending and count <= MOST_NODES:
        node = pending.pop()
        count += 1
        pending += list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    return count <= MOST_NODES


def _typed(value: Any) -> Any:
    """A nested setting with its numbers and truth values as such."""
    if isinstance(value, dict):
        return {str(key): _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
