"""Writes small JSON files atomically, so that a reader never sees a partial one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_json(path: Path, content: Mapping[str, Any], *, is_durable: bool = True) -> None:
    """Replace the file atomically; with `is_durable` it also survives a crash of the machine. Raises OSError."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", opener=_private) as file:
        json.dump(content, file)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
    temporary.replace(path)
