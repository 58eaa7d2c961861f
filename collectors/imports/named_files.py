"""The files that a person names for an import: a path, its `~` filled in, or a pattern for several (`logs/*.log`)."""

from __future__ import annotations

from glob import iglob
from itertools import islice
from pathlib import Path

from collectors.imports.log_file import ImportRefusedError

MOST_FILES = 1000  # of one pattern


def named_files(text: str) -> list[Path]:
    """The files and folders in the order of their names; a file whose own name has a `*` is taken before a pattern.

    Raises ImportRefusedError where there is none, or where a pattern matches more than a person can mean.
    """
    path = _in_full(text)
    if path.is_file() or path.is_dir():
        return [path]
    found = sorted(islice(iglob(str(path)), MOST_FILES + 1))  # noqa: PTH207 - Path.glob takes no absolute pattern
    if len(found) > MOST_FILES:
        raise ImportRefusedError(f"More than {MOST_FILES:,} files match {path}: please name a folder or fewer files.")
    files = [file for file in map(Path, found) if file.is_file() or file.is_dir()]
    if not files:
        raise ImportRefusedError(f"There is no file {path}.")
    return files


def _in_full(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ImportRefusedError(f"The path {text} names a home folder that is not known: write it in full.") from error
