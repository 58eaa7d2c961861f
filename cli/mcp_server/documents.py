"""Pitwall's own documents as agents read them: a list with titles, and one document in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from errors import PitwallError

FOLDER = Path(__file__).resolve().parents[2] / "docs"
PART_CHARS = 12_000


def list_documents() -> list[dict[str, str]]:
    """Return name and title of each document, by name."""
    paths = sorted(FOLDER.rglob("*.md"))
    return [{"name": path.relative_to(FOLDER).as_posix(), "title": _title(path)} for path in paths]


def read_document(name: str, offset: int = 0) -> dict[str, Any]:
    """Return a part of a document from a character on; raises PitwallError for an unknown name."""
    names = {document["name"] for document in list_documents()}
    if name not in names:  # compared with the list, so that no path leads out of the folder
        raise PitwallError(f"There is no document {name[:80]!r}: list the documents by leaving the name out.")
    text = (FOLDER / name).read_text(encoding="utf-8")
    end = max(0, offset) + PART_CHARS
    return {
        "name": name,
        "text": text[max(0, offset) : end],
        "next_offset": end if end < len(text) else None,
        "source": f"docs/{name}",
    }


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()
