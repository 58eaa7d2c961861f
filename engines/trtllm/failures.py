"""What ends a TensorRT-LLM server, and what only follows from it."""

from __future__ import annotations

import re
from typing import NamedTuple


class CollectorError(NamedTuple):
    """`rank` 0 is a cause, higher ranks follow from one; `cause` is the engine's text, the sentence ours."""

    rank: int
    cause: str
    sentence: str

    @property
    def is_any_exception(self) -> bool:
        """An exception of no known kind: a request's own, once the server is ready."""
        return self.rank == _ANY_EXCEPTION


_ANY_EXCEPTION = 2
_RULES: tuple[tuple[re.Pattern[str], int, str], ...] = (
    (
        re.compile(r"Executor creation failed due to insufficient GPU memory\.?"),
        0,
        "The accelerator's memory does not hold the executor.",
    ),
    (re.compile(r"The following component could not be created: .*"), 1, ""),
    (
        re.compile(r"(?:\w+\.)*OutOfMemoryError: .*|CUDA (?:runtime )?error.*out of memory.*|CUDA out of memory.*"),
        0,
        "The accelerator ran out of memory.",
    ),
    (re.compile(r"CUDA error: .*|CUDA runtime error in .*"), 0, "The CUDA runtime failed."),
    (re.compile(r"(?:\w+\.)*\w*Error: NCCL error.*"), 0, "The communication between the GPUs (NCCL) failed."),
    (re.compile(r"Assertion failed: .*"), 0, "A check of the engine failed."),
    (re.compile(r"No such option: .*|unrecognized arguments: .*"), 0, "The server does not know a flag."),
    (re.compile(r"\[Errno \d+\] .*address already in use.*"), 0, "The port is in use."),
    (
        re.compile(r"^(?:\S+: line \d+: +\d+ )?Killed\b.*|Out of memory: Killed process.*"),
        0,
        "The kernel killed the process, most likely for memory.",
    ),
    (re.compile(r"^(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception): .*"), _ANY_EXCEPTION, ""),
    (
        re.compile(r"Failed to initialize executor on rank \d+: .*|Executor worker died.*|terminate called after.*"),
        3,
        "",
    ),
)


def read_trouble(text: str) -> CollectorError | None:
    """What a message means for the run, or None."""
    for pattern, rank, sentence in _RULES:
        if found := pattern.search(text):
            return CollectorError(rank, found[0].strip(), sentence)
    return None
