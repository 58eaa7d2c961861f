"""Threads that parse at once: each gets its tree, whatever a garbage collection does in between."""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import python_syntax

SOURCE = Path(python_syntax.__file__).with_name("domain.py").read_text()
LITERAL = repr({str(number): [number, (None, True)] for number in range(500)})


@pytest.fixture
def switching_collections() -> Iterator[None]:
    """Garbage is collected often, and each collection lets another thread run."""

    def yield_thread(phase: str, info: dict[str, int]) -> None:
        time.sleep(0.0005)

    threshold = gc.get_threshold()
    gc.callbacks.append(yield_thread)
    gc.set_threshold(300)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(yield_thread)


@pytest.mark.usefixtures("switching_collections")
@pytest.mark.parametrize(
    ("parse", "text", "plain"),
    [
        (python_syntax.parse_source, SOURCE, lambda text: ast.dump(ast.parse(text))),
        (python_syntax.evaluate_literal, LITERAL, ast.literal_eval),
    ],
)
def test_threads_parse_at_once(parse: Callable[[str], object], text: str, plain: Callable[[str], object]) -> None:
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(parse, [text] * 8))
    expected = plain(text)
    assert all((ast.dump(result) if isinstance(result, ast.AST) else result) == expected for result in results)


def test_no_other_module_parses() -> None:
    """Every other caller would meet the fault again."""
    root = Path(python_syntax.__file__).parent
    rooms = [path for path in root.iterdir() if (path / "__init__.py").is_file() and path.name != "tests"]
    files = [*root.glob("*.py"), *(file for room in rooms for file in room.rglob("*.py"))]
    product = [file for file in files if file.relative_to(root).parts[0] not in ("scripts", "benchmarks", "tests")]
    callers = [
        file.name for file in product if any(f"ast.{call}(" in file.read_text() for call in ("parse", "literal_eval"))
    ]
    assert callers == ["python_syntax.py"]
