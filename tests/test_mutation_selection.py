"""`make mutation` runs its tests beside a copy of some rooms: what they import must be among these."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTMUT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
SELECTION = MUTMUT["pytest_add_cli_args_test_selection"]
COPIED = {"tests", *MUTMUT["source_paths"], *(Path(name).stem for name in MUTMUT["also_copy"])}
OURS = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} | {
    path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py"))
}


def selected() -> Iterator[Path]:
    left_out = [ROOT / word.partition("=")[2] for word in SELECTION if word.startswith("--ignore=")]
    for word in SELECTION:
        root = ROOT / word
        paths = root.rglob("test_*.py") if root.is_dir() else [root]
        kept_paths = (path for path in paths if not any(path.is_relative_to(out) for out in left_out))
        yield from (one for one in kept_paths if not word.startswith("--"))


def imported(path: Path) -> set[str]:
    """Dotted names of modules."""
    tree = ast.walk(ast.parse(path.read_text()))
    nodes = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    return {
        name
        for node in nodes
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names])
    }


def test_mutants_get_the_imports_of_their_tests() -> None:
    left, seen = list(selected()), set[Path]()
    assert len(left) > 20
    while left:
        path = left.pop()
        seen.add(path)
        for name in imported(path):
            room = name.partition(".")[0]
            assert room not in OURS - COPIED, f"{path.relative_to(ROOT)} imports {name}"
            helper = ROOT / (name.replace(".", "/") + ".py")
            if room == "tests" and helper.exists() and helper not in seen:
                left.append(helper)


def test_what_is_left_out_is_there() -> None:
    """A test that was moved would be taken in again, and one that is missing stops pytest."""
    for word in SELECTION:
        assert (ROOT / word.removeprefix("--ignore=")).exists(), word
