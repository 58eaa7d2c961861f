"""docs/threads-and-locks.md has every lock and every thread that the code makes, by its name, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_architecture import ROOT, product_files

DOCUMENT = (ROOT / "docs/threads-and-locks.md").read_text()
OURS, LOCKS, OTHERS = (
    "Threads",
    "Locks, in the order in which they may be taken",
    "Threads and locks of other processes",
)
LOCK_TYPES = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore"}
NAMED_FROM_OUTSIDE = {"Ticker": 1, "DetachedCalls": 0}  # their threads have the name that they are given, at this place


def called(node: ast.AST) -> str:
    """'Lock' of threading.Lock() and Lock(); '' for asyncio's, which no thread waits for, and for no call."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        is_of_asyncio = isinstance(node.func.value, ast.Name) and node.func.value.id == "asyncio"
        return "" if is_of_asyncio else node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def lock_lines(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the 'Class.attribute' of each that is kept in one; of another 'line N', which no document has."""
    nodes = [node for node in ast.walk(tree) if called(node) in LOCK_TYPES]
    if not nodes:  # in most files
        return
    kept = dict[ast.AST, str]()
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for one in ast.walk(owner):
            targets = (
                one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
            )
            for target in targets:
                if isinstance(target, ast.Attribute):
                    kept |= dict.fromkeys(ast.walk(one), f"{owner.name}.{target.attr}")
    for node in nodes:
        yield node.lineno, kept.get(node, f"line {node.lineno}")  # type: ignore[attr-defined]


def locks_in(tree: ast.Module) -> Iterator[str]:
    return (name for _, name in lock_lines(tree))


def threads_in(tree: ast.Module) -> Iterator[str]:
    """What threads are called; '<>' for what changes, 'line N' where one has no name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        values_by_arg = {word.arg: word.value for word in node.keywords}
        if called(node) == "Thread":
            name = template(values_by_arg.get("name"))
            if name != "<>":  # given from outside
                yield name or f"line {node.lineno}"
        elif called(node) == "ThreadPoolExecutor":
            name = template(values_by_arg.get("thread_name_prefix"))
            yield f"{name}_*" if name else f"line {node.lineno}"
        elif called(node) in NAMED_FROM_OUTSIDE:
            yield template(node.args[NAMED_FROM_OUTSIDE[called(node)]])


def template(name: ast.expr | None) -> str:
    if name is None:
        return ""
    if isinstance(name, ast.Constant):
        return str(name.value)
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in parts)


def rows_of(title: str) -> list[set[str]]:
    """What each row of this section's table has in backticks where it names a thread or a lock."""
    section = DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[2 if title == OTHERS else 1] for line in section.splitlines() if line.startswith("| ")]
    return [set(re.findall(r"`([^`]+)`", row)) for row in rows]


def names_in_document(*titles: str) -> set[str]:
    return {re.sub(r"<[^>]*>", "<>", name) for title in titles for row in rows_of(title) for name in row}


def names_in_product(look: object) -> dict[str, set[str]]:
    return {
        str(path.relative_to(ROOT)): names
        for path in product_files()
        if (names := set(look(ast.parse(path.read_text()))))  # type: ignore[operator]
    }


@pytest.mark.parametrize("look", [locks_in, threads_in])
def test_the_document_has_every_one_and_no_other(look: object) -> None:
    is_lock = look is locks_in
    tables = names_in_document(LOCKS if is_lock else OURS, OTHERS)
    in_tables = {name for name in tables if ("." in name) == is_lock and not name.endswith(".json") and "/" not in name}
    in_code = names_in_product(look)
    assert {path: names - in_tables for path, names in in_code.items() if names - in_tables} == {}
    assert in_tables - set().union(*in_code.values()) == set()
