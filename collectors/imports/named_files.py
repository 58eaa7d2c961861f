"""Files to import from the user's input: a path, with `~` expanded, or a pattern for several (`logs/*.log`)."""

from __future__ import annotations

import unicodedata
from glob import iglob
from itertools import islice
from pathlib import Path

from collectors.imports.log_file import ImportRefusedError

MAX_FILES = 1000  # of one pattern


def named_files(text: str) -> list[Path]:
    """Return files and folders sorted by name; a file whose name contains `*` takes precedence over the pattern.

    Raises ImportRefusedError if there are none or more than `MAX_FILES`.
    """
    path = _expand_home(text)
    if path.is_file() or path.is_dir():
        return [_with_readable_name(path)]
    matches = sorted(islice(iglob(str(path)), MAX_FILES + 1))  # noqa: PTH207 - Path.glob takes no absolute pattern
    if len(matches) > MAX_FILES:
        raise ImportRefusedError(f"More than {MAX_FILES:,} files match {path}: please name a folder or fewer files.")
    files = [file for file in map(Path, matches) if file.is_file() or file.is_dir()]
    if not files:
        is_present = path.exists()
        problem = f"{path} is neither a file nor a folder" if is_present else f"There is no file {path}"
        raise ImportRefusedError(f"{printable(problem)}.")
    return list(map(_with_readable_name, files))


def printable(text: str) -> str:
    """Return the text with '?' for control characters and undecodable bytes, so that a terminal only shows it."""
    return "".join("?" if unicodedata.category(char) in ("Cc", "Cs") else char for char in text)


def _with_readable_name(path: Path) -> Path:
    """Return the path; raises ImportRefusedError for a name that is no text or has control characters."""
    name = str(path.absolute())
    if name != printable(name):
        raise ImportRefusedError(
            f"The name {printable(name)} has characters that cannot be shown, here as '?': rename the file."
        )
    return path


def _expand_home(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ImportRefusedError(f"The home folder in {text} is unknown: enter the full path.") from error
