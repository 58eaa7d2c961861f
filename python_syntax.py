"""Python source as a syntax tree or a value, for one thread at a time.

CPython 3.11.7 counts the depth of a tree for the whole process: if a garbage collection switches threads while two of
them parse, the first one to end fails with SystemError ('AST constructor recursion depth mismatch').
"""

from __future__ import annotations

import ast
import threading
from typing import Any


class _SyntaxParser:
    """The only caller of `ast`'s parsers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def parse_source(self, text: str) -> ast.Module:
        """Return the syntax tree of a module; raises as `ast.parse` does."""
        with self._lock:
            return ast.parse(text)

    def evaluate_literal(self, text: str) -> Any:
        """Return the value of a literal; raises as `ast.literal_eval` does."""
        with self._lock:
            return ast.literal_eval(text)


_PARSER = _SyntaxParser()
parse_source, evaluate_literal = _PARSER.parse_source, _PARSER.evaluate_literal
