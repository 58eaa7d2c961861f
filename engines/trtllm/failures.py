"""Failures of a TensorRT-LLM server and their consequences."""

from __future__ import annotations

import re

from engines.bare_exceptions import is_bare_exception
from engines.base import ParsedLine
from engines.line_reader import LogFailure
from engines.machine_failures import read_machine_failure
from engines.numerals import NUMBER

_EXPLANATION, _CAUSE, _DETAIL, _EXCEPTION, _BARE_EXCEPTION, _WRAPPER = range(6)
_RULES: tuple[tuple[re.Pattern[str], int, str], ...] = (
    (
        re.compile(r"Executor creation failed due to insufficient GPU memory\.?"),
        _CAUSE,
        "The executor does not fit in the accelerator's memory.",
    ),
    (re.compile(r"The following component could not be created: .*"), _DETAIL, ""),
    (
        re.compile(r"(?:\w+\.)*OutOfMemoryError: .*|CUDA (?:runtime )?error.*out of memory.*|CUDA out of memory.*"),
        _CAUSE,
        "The accelerator ran out of memory.",
    ),
    (re.compile(r"CUDA error: .*|CUDA runtime error in .*"), _CAUSE, "The CUDA runtime failed."),
    (re.compile(r"(?:\w+\.)*\w*Error: NCCL error.*"), _CAUSE, "The communication between the GPUs (NCCL) failed."),
    (re.compile(r"Assertion failed: .*"), _CAUSE, "A check of the engine failed."),
    (
        re.compile(r"(?<=unexpected error when creating modelInstanceState: ).*"),
        _CAUSE,
        "The model could not be created.",
    ),
    (re.compile(r"No such option: .*|unrecognized arguments: .*"), _CAUSE, "The server does not know a flag."),
    (re.compile(r"\[Errno \d+\] .*address already in use.*"), _CAUSE, "The port is in use."),
    (
        re.compile(r"^(?:\S+: line \d+: +\d+ )?Killed\b.*|Out of memory: Killed process.*"),
        _CAUSE,
        "The kernel killed the process, most likely for memory.",
    ),
    (
        re.compile(
            r"Failed to initialize executor on rank \d+: .*|Executor worker (?:died|returned error).*|"
            r"terminate called after.*"
        ),
        _WRAPPER,
        "",
    ),
    (re.compile(r"what\(\): .*"), _DETAIL, ""),
    (re.compile(r"^(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception)(?:: .*|:?$)"), _EXCEPTION, ""),
)


_STACK = re.compile(r"(?:\\n|\s)\d{1,3} +0x[0-9a-f]{6,16} .*")  # behind a message that contains it
# A terminal may have wrapped the sentence behind the type: the cause is the whole sentence all the same.
_UNKNOWN_TYPE = re.compile(r"\bmodel type (?P<type>[`'\"][^`'\"\s]{1,100}[`'\"])(?= but Transformers| *$)")
_COMPONENT = re.compile(r"The following component could not be created: (?P<component>.{1,120})")
_MEMORY = re.compile(
    rf"(?P<what>Total|Free) GPU memory(?: before component creation attempt)? \(GiB\): (?P<gib>{NUMBER})"
)
_MOST_TABLE_LINES = 12  # from the component to the free memory


class MemoryTable:
    """Reads the table behind 'Executor creation failed': the component, all memory and the free memory."""

    def __init__(self) -> None:
        self._component: str | None = None
        self._total_gib: str | None = None
        self._first_line = 0

    def read(self, line: ParsedLine) -> LogFailure | None:
        """Return the cause in one sentence with the table's last number; None for other lines."""
        if match := _COMPONENT.search(line.text):
            self._component, self._total_gib, self._first_line = match["component"].strip(), None, line.number
            return None
        match = _MEMORY.search(line.text)
        if self._component is None or match is None or line.number - self._first_line > _MOST_TABLE_LINES:
            return None
        if match["what"] == "Total":
            self._total_gib = match["gib"]
            return None
        return self._explain(match["gib"])

    def _explain(self, free_gib: str) -> LogFailure:
        component, self._component = self._component or "", None
        component = component if component[:2].isupper() else component[:1].lower() + component[1:]
        of_total = f" of {self._total_gib}" if self._total_gib else ""
        sentence = f"Not enough GPU memory for {component}: {free_gib}{of_total} GiB free."
        return LogFailure(_EXPLANATION, sentence, sentence)


def read_failure(text: str, is_ready: bool) -> LogFailure | None:
    """Return the failure that a message reports; once the server is ready, an unknown exception is a request's."""
    if (failure := read_machine_failure(text, _CAUSE, _WRAPPER)) is not None:
        return failure
    if unknown := _UNKNOWN_TYPE.search(text):
        cause = f"model type {unknown['type']} but Transformers does not recognize this architecture"
        return LogFailure(_CAUSE, cause, f"The installed Transformers does not know the model's architecture. {cause}")
    for pattern, rank, sentence in _RULES:
        if match := pattern.search(text):
            cause = _STACK.sub("", match[0]).strip()
            if rank != _EXCEPTION:
                return LogFailure(rank, cause, f"{sentence} {cause}".strip())
            if is_ready:
                return LogFailure(None, cause, f"A request failed; the server keeps running: {cause}")
            return LogFailure(_BARE_EXCEPTION if is_bare_exception(cause) else _EXCEPTION, cause, cause)
    return None
