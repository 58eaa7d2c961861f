"""Reads one JSON object from a file that others write: of limited size, from a regular file only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from machine.regular_file import open_regular, pin_path


def read_object(path: Path, max_bytes: int) -> dict[str, Any]:
    """Return the object; symbolic links are resolved first, as a model hub's cache needs.

    Raises OSError and NotRegularError as `open_regular` does, RuntimeError for a loop of links, and ValueError if the
    file holds no JSON object.
    """
    with open_regular(pin_path(path)) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes >> 20} MiB")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value
