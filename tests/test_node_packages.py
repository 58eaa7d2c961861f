"""What checks the JavaScript is pinned, and the lock says nothing of where a machine takes packages from."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = json.loads((ROOT / "package-lock.json").read_text())["packages"]
PACKAGES = {path: one for path, one in LOCK.items() if path}


def test_every_package_is_pinned_by_its_content() -> None:
    assert len(PACKAGES) > 50
    assert [path for path, one in PACKAGES.items() if not one.get("integrity")] == []


def test_the_lock_names_no_registry() -> None:
    assert [path for path, one in PACKAGES.items() if "resolved" in one] == []


def test_what_is_asked_for_is_exact() -> None:
    asked = json.loads((ROOT / "package.json").read_text())
    assert "dependencies" not in asked, "nothing of Node.js is shipped"
    installed = {name: LOCK[f"node_modules/{name}"]["version"] for name in asked["devDependencies"]}
    assert asked["devDependencies"] == installed
