"""Failures of a TensorRT-LLM server and their consequences."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

_ANY_EXCEPTION = 2
_RULES: tuple[tuple[re.Pattern[str], int, str], ...] = (
    (
        re.compile(r"Executor creation failed due to insufficient GPU memory\.?"),
        0,
        "The executor does not fit in the accelerator's memory.",
    ),
    (
        re.compile(r"model type \S+ but Transformers does not recognize this architecture.*"),
        0,
        "The installed Transformers does not know the model's architecture.",
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


def read_failure(text: str, is_ready: bool) -> LogFailure | None:
    """Return the failure that a message reports; once the server is ready, an unknown exception is a request's."""
    for pattern, rank, sentence in _RULES:
        if match := pattern.search(text):
            cause = match[0].strip()
            if is_ready and rank == _ANY_EXCEPTION:
                return LogFailure(None, cause, f"A request failed; the server keeps running: {cause}")
            return LogFailure(rank, cause, f"{sentence} {cause}".strip())
    return None
