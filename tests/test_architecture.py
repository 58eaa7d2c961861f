"""The import direction and the homes of libraries, held by a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    {"domain", "settings"},
    {"engines", "analysis", "storage", "reference"},
    {"collectors", "launcher", "workloads", "demo"},
    {"web"},
    {"pages"},
    {"app"},
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
HOMES = {
    "duckdb": {"storage"},
    "subprocess": {"launcher"},
    "pynvml": {"collectors"},
    "plotly": {"web"},
    "streamlit": {"app", "web", "pages"},
}
COMPOSES = "__main__.py"  # a command puts rooms together as app.py does, and is imported by nobody
FORBIDDEN_PAIRS = {("collectors", "storage"), ("engines", "storage"), ("analysis", "storage"), ("workloads", "storage")}


def room_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def product_files() -> list[Path]:
    files = [p for room in RANK for p in (ROOT / room).rglob("*.py")]
    return sorted(files + [ROOT / f"{room}.py" for room in RANK if (ROOT / f"{room}.py").exists()])


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", product_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downwards_and_libraries_stay_home(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        if name in RANK and name != room and path.name != COMPOSES:
            assert RANK[name] <= RANK[room], f"{room} must not import {name}"
            assert (room, name) not in FORBIDDEN_PAIRS, f"{room} must not know {name}"
        assert name != "app", "nobody imports app.py"
        if name in HOMES:
            assert room in HOMES[name], f"{name} is at home in {sorted(HOMES[name])}, not in {room}"


def test_the_check_sees_files() -> None:
    assert len(product_files()) > 10
