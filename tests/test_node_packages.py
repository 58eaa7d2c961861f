"""Packages that check the JavaScript or are bundled with the SQL editor are pinned, and no lock names a registry."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EDITOR = ROOT / "web" / "sql_editor"
SERVED = ROOT / "web" / "static" / "sql_editor"
FOLDERS = pytest.mark.parametrize("folder", [ROOT, EDITOR], ids=["checks", "editor"])


def locked(folder: Path) -> dict[str, dict[str, Any]]:
    """What the lock of a folder pins, by its place."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    return {path: package for path, package in packages.items() if path}


@FOLDERS
def test_packages_pinned_by_content_no_registry(folder: Path) -> None:
    packages = locked(folder)
    assert len(packages) > 10
    assert [path for path, package in packages.items() if not package.get("integrity") or "resolved" in package] == []


@FOLDERS
def test_what_is_asked_for_is_exact(folder: Path) -> None:
    document = json.loads((folder / "package.json").read_text())
    dependencies = document.get("dependencies", {}) | document["devDependencies"]
    assert dependencies == {name: locked(folder)[f"node_modules/{name}"]["version"] for name in dependencies}
    assert folder == EDITOR or "dependencies" not in document, "nothing else of Node.js is shipped"


def test_served_editor_matches_local_sources() -> None:
    sources = ("entry.js", "duckdb_words.js", "package-lock.json")
    digest = hashlib.sha256(b"".join((EDITOR / name).read_bytes() for name in sources)).hexdigest()
    with (SERVED / "codemirror.min.js").open() as bundle:
        assert digest in bundle.readline(), "run: make sql-editor"


def test_shipped_packages_have_their_licences() -> None:
    texts = (SERVED / "LICENSE.txt").read_text()
    shipped = {
        path.removeprefix("node_modules/"): value for path, value in locked(EDITOR).items() if not value.get("dev")
    }
    assert {value["license"] for value in shipped.values()} == {"MIT"}
    assert [name for name, value in shipped.items() if f"{name} {value['version']}\n" not in texts] == []
