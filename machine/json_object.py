"""One JSON object from a file that others write: bounded, from a regular file only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from machine.regular_file import opened, pinned


def read_object(path: Path, most_bytes: int) -> dict[str, Any]:
    """The object; a link is followed once, as in the cache of a hub.

    Raises OSError and NotRegularError as `opened` does, RuntimeError for links in a circle, ValueError for no object.
    """
    with opened(pinned(path)) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"it is larger than {most_bytes >> 20} MiB")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value
