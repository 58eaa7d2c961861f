"""Files and folders that their owner alone can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def private_folder(path: Path) -> Path:
    """The folder, made where there is none; those that are missing above it are made likewise. Raises OSError."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, durably; raises OSError."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
