"""Removes folders that other programs filled, where some may be read-only."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it; links are removed and not followed. Raises OSError."""
    with suppress(FileNotFoundError):
        folder.chmod(0o700)
    for root, names, _ in os.walk(folder):
        for path in (Path(root, name) for name in names):
            with suppress(OSError):  # what is left fails below, with its name
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder)
