"""Version keys for cached numbers: a hash of the code that computes them, found by its imports.

Comments, docstrings and formatting do not change a key; any other change of a Python module that a number depends on,
or of any SQL statement, does.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engines import ENGINES, all_definitions
from python_syntax import parse_source

ROOT = Path(__file__).resolve().parents[1]
# Top-level packages whose code computes numbers. For engine packages their definitions are hashed instead.
ROOMS = {"analysis", "engines", "load_records", "reasons", "reports", "samples", "storage", "web"}
ENGINE_PACKAGES = tuple(f"engines.{engine.name}" for engine in ENGINES)
_SQL_COMMENT = re.compile(r"^\s*--.*$|\s--\s.*$", re.MULTILINE)


class _ModuleCode(NamedTuple):
    """The dotted names that a module may import, and the checksum of its code."""

    imports: tuple[str, ...]
    checksum: str


@cache
def source_hash(*modules: str, root: Path = ROOT) -> str:
    """Return 16 hexadecimal digits that change with the code of these modules and of everything they import.

    modules: dotted names, such as 'reports.runs.run_line'. root: the folder of the packages.
    """
    digest = hashlib.sha256(repr(all_definitions()).encode())
    for name, code in sorted(_imported_modules(modules, root).items()):
        digest.update(f"{name}\n{code.checksum}\n".encode())
    for path in _statements(root):
        digest.update(f"{path.relative_to(root)}\n{_without_comments(path.read_text())}\n".encode())
    return digest.hexdigest()[:16]


def _imported_modules(modules: tuple[str, ...], root: Path) -> dict[str, _ModuleCode]:
    """Return these modules and everything they import within ROOMS, by name."""
    code_by_name: dict[str, _ModuleCode] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        path = _module_path(name, root)
        if name in code_by_name or path is None or name.partition(".")[0] not in ROOMS or _is_of_engine(name):
            continue
        code_by_name[name] = _module_code(path.read_text())
        pending += code_by_name[name].imports
    return code_by_name


@cache
def _module_code(source: str) -> _ModuleCode:
    """Read a module once for all keys: they share most modules, and one key alone takes 0.7 s."""
    tree = parse_source(source)
    imports = tuple(_imports(tree))
    return _ModuleCode(imports, hashlib.sha256(ast.dump(_without_docstrings(tree)).encode()).hexdigest())


def _module_path(name: str, root: Path) -> Path | None:
    base = root / name.replace(".", "/")
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _is_of_engine(name: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in ENGINE_PACKAGES)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_docstring(statement)]
    return tree


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _statements(root: Path) -> list[Path]:
    """Return the SQL files of views and queries, without the comments on views."""
    files = (path for folder in ("views", "queries") for path in (root / "storage" / folder).rglob("*.sql"))
    return sorted(path for path in files if not path.name.startswith("comments"))


def _without_comments(sql: str) -> str:
    return " ".join(_SQL_COMMENT.sub("", sql).split())
