"""The files of an agent task below a load's folder: one folder for each repeat, kept until somebody deletes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from load_records import AGENT_FOLDER_PREFIX
from machine.folder_removal import remove_tree

COPY, AGENT_LOG, CHECK_LOG = "folder", "agent.log", "check.log"


def repeat_folder(load_folder: Path, repeat: int) -> Path:
    """Return the folder of a repeat, from 1."""
    return load_folder / f"{AGENT_FOLDER_PREFIX}{repeat}"


def repeat_folders(run_folder: Path) -> list[Path]:
    """Return the folders of all repeats of all loads of a run."""
    return [
        path
        for path in sorted(run_folder.glob(f"workload*/{AGENT_FOLDER_PREFIX}[0-9]*"))
        if path.is_dir() and not path.is_symlink()
    ]


def tree_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder; links are not followed."""
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield Path(root, name).lstat().st_size


def delete_repeats(folders: list[Path]) -> int:
    """Delete these folders with copies and output; returns how many bytes they had. Raises OSError."""
    total_bytes = sum(map(tree_bytes, folders))
    for folder in folders:
        remove_tree(folder)
    return total_bytes
