"""Kernels that could not be built while a server started: what the compiler says explains the exception before it."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

# In every line of a compiler's failure; RE2 syntax.
NEEDLES = r"nvcc fatal|LLVM ERROR: |hipcc: error|nvcc: not found|fatal error: "
_MAX_TEXT = 2000
_FAILURE = re.compile(
    r"^(?:nvcc fatal +: \S|LLVM ERROR: \S|hipcc: error: \S|\S.{0,200}\bnvcc: not found$|"
    r"\S{1,400}:\d{1,7}:\d{1,5}: fatal error: \S)"
)
_BUILD = re.compile(r"Ninja build failed|Error building extension|Error compiling objects for extension")


def read_build_failure(text: str, cause_rank: int) -> LogFailure | None:
    """Return the failure of a compiler's message; None for other messages."""
    bare = text.strip()
    if len(text) > _MAX_TEXT or _FAILURE.match(bare) is None:
        return None
    return LogFailure(cause_rank, bare, f"A kernel could not be built. {bare}")


def is_build_exception(text: str) -> bool:
    """Whether an exception only says that a build failed: the compiler's message explains it."""
    return _BUILD.search(text) is not None
