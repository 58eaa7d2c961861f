"""Failures in an SGLang log: true causes, their echoes, single failed requests, warnings that matter."""

from __future__ import annotations

import re

from engines.bare_exceptions import Assertions, CompilationCauses, is_bare_exception
from engines.base import ParsedLine
from engines.line_reader import LogFailure
from engines.machine_failures import read_machine_failure

_TRACEBACK = "Traceback (most recent call last)"
_LONGEST_TRACEBACK = 500  # lines
_FRAME = re.compile(r'^ {2}File "[^"\n]{1,400}", line \d{1,7}, in ')
_FATAL_HEADER = re.compile(
    r"hit an exception: |^Exception in (?:Controller|Model|Tp|Detokenizer)|^Initialization failed\."
)
_HARMLESS_HEADER = re.compile(
    r"^Error in request|Exception in ASGI application|^Exception ignored in|exception was never retrieved|"
    r"^Ignore import error|^Fail(?:ed)? to (?:parse|process)"
)
_EXCEPTION = re.compile(
    r"^`?(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Interrupt|Exit|Pool|Timeout|Again|Failure|OutOfResources)(?:: .*|$)"
)
_LONE = re.compile(r"^`?(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception): \S")
_DIRECT_CAUSE = re.compile(
    r"^`?(?:\w+(?:\.\w+)*Error: )?(?:(?:Prefill|Decode) out of memory\b(?! happened)|CUDA out of memory\b|CUDA error: |"
    r"Not enough memory\. |NCCL error\b|NPU out of memory\b|HIP out of memory\b)|"
    r": error: (?:unrecognized arguments|argument |the following arguments)|"
    r"\[Errno \d+\] .*[Aa]ddress already in use|^Watchdog timeout \((?!.*soft=True)|"
    r"[Pp]ort \d+ is (?:not available|already in use|occupied)"
)
_KILLED = re.compile(r"^(?:\S+: line \d+: +\d+ )?Killed\b|Out of memory: Killed process|\boom-kill(?:er)?:")
_CAUSE, _BARE_EXCEPTION, _ECHO_RANK = range(3)
_ECHO = re.compile(
    r"Received sigquit from a child proces|scheduler is dead\. |^Child process unexpectedly failed|"
    r"terminated with -?\d+$|^Subprocess \w+ .*(?:crashed|exited|died)"
)
_ORDERED = re.compile(r"^SIGTERM received\b")
_SENTENCES = (
    (
        re.compile(r"Transformers does not recognize this architecture"),
        "The installed Transformers does not know the model's architecture.",
    ),
    (
        re.compile(r"(?:Prefill|Decode) out of memory"),
        "The KV pool cannot hold the batch: lower the batch size or context.",
    ),
    (
        re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static"),
        "No memory is left for the KV cache.",
    ),
    (re.compile(r"NCCL error"), "The communication between the GPUs (NCCL) failed."),
    (re.compile(r"out of memory", re.IGNORECASE), "The accelerator ran out of memory."),
    (re.compile(r"illegal memory access"), "A CUDA kernel read or wrote outside its memory."),
    (re.compile(r"unrecognized arguments"), "The server does not know a flag."),
    (re.compile(r"ddress already in use|[Pp]ort \d+ is"), "The port is in use."),
    (re.compile(r"^Watchdog timeout"), "The scheduler hung and its watchdog stopped it."),
    (re.compile(r"[Kk]illed"), "The kernel killed the process, most likely for memory."),
)
_WARNINGS = (
    (
        re.compile(r"no scaling factors provided\. Defaulting to scaling factors of 1\.0"),
        "The FP8 KV cache has no scaling factors; they default to 1.0, which can cost accuracy.",
    ),
    (re.compile(r"FP4 \(E2M1\) KV Cache might lead"), "An FP4 KV cache can cost accuracy."),
    (
        re.compile(r"^KV cache pool is full\. Retract requests|^[Dd]ecode out of memory happened[.,] #retracted_reqs"),
        "The KV pool is full: running requests are retracted and redone.",
    ),
    (
        re.compile(r"^max_total_tokens=\d+ is larger than the profiled value"),
        "The KV pool holds fewer tokens than were asked for.",
    ),
    (
        re.compile(r"\b(?:NEXTN|EAGLE)\b.*\bFROZEN_KV_MTP\b"),
        "The requested speculation was promoted to FROZEN_KV_MTP: the drafter reads the target's KV cache.",
    ),
    (
        re.compile(
            r"(?:kernel|backend|attention|[Tt]riton)\b.*[Ff]all(?:s|ing) back to|Performance might be sub-?optimal"
        ),
        "A slower or less tuned fallback is in use.",
    ),
    (re.compile(r"^Cuda graph is disabled"), "CUDA graphs are off: decoding pays for every kernel launch."),
    (
        re.compile(r"resource_tracker: There appear to be \d"),
        "Processes ended without cleaning up, as after being killed.",
    ),
)


class SglangFailureReader:
    """Tracks tracebacks and separates server failures from request failures; before `is_ready` all are fatal."""

    def __init__(self) -> None:
        self.is_ready = False
        self._traceback: ParsedLine | None = None  # start of the traceback whose exception has not come yet
        self._is_fatal = False
        self._request_failed = False
        self._is_stopping = False  # on request: the processes that end then are no failure
        self._has_traceback = False
        self._assertions = Assertions()
        self._compilation_causes = CompilationCauses()

    def read(self, line: ParsedLine) -> LogFailure | None:
        """Return the failure that the line reports; None for other lines, and in a traceback until its exception."""
        if self._traceback is not None and line.number - self._traceback.number > _LONGEST_TRACEBACK:
            self._traceback = None
        if _TRACEBACK in line.text:
            self._open_traceback(line)
            return None
        if self._compilation_causes.is_cause(line) and self._is_fatal:
            return LogFailure(_CAUSE, line.text.strip(), _sentence(line.text.strip()))
        if not self._has_traceback and _FRAME.match(line.text):  # the log begins inside it
            self._open_traceback(line)
            return None
        if self._traceback is not None and _EXCEPTION.match(line.text):
            self._traceback = None
            return None if line.text.startswith("KeyboardInterrupt") else self._name_failure(line)
        self._assertions.note(line)
        if (lone := self._read_lone_exception(line)) is not None:
            return lone
        self._request_failed = self._request_failed or bool(_HARMLESS_HEADER.search(line.text))
        self._is_stopping = self._is_stopping or bool(_ORDERED.search(line.text))
        failure = _read_plain(line.text)
        return None if self._is_stopping and failure and failure.rank == _ECHO_RANK else failure

    def open_offset(self) -> int | None:
        """Return the offset of the traceback whose exception has not come yet; None if there is none."""
        return None if self._traceback is None else self._traceback.offset

    def close(self) -> tuple[ParsedLine, LogFailure] | None:
        """Return the scheduler's exception if the log ended inside its traceback."""
        line, self._traceback = self._traceback, None
        if line is None or "hit an exception" not in line.text:
            return None
        return line, LogFailure(
            _ECHO_RANK, "Scheduler hit an exception", "The scheduler failed; the log ends before the cause."
        )

    def _open_traceback(self, line: ParsedLine) -> None:
        self._has_traceback = True
        header = line.text.partition(_TRACEBACK)[0]
        is_of_request = self._request_failed or bool(_HARMLESS_HEADER.search(header))
        self._traceback = line
        self._is_fatal = bool(_FATAL_HEADER.search(header)) or not (is_of_request or self.is_ready)
        self._request_failed = False

    def _read_lone_exception(self, line: ParsedLine) -> LogFailure | None:
        """Return the failure of an exception that is quoted without its traceback, before the server is ready."""
        if self.is_ready or self._has_traceback or self._request_failed or not _LONE.match(line.text):
            return None
        if _DIRECT_CAUSE.search(line.text):
            return None
        text = line.text.strip().lstrip("`")
        return LogFailure(_CAUSE, text, _sentence(text))

    def _name_failure(self, line: ParsedLine) -> LogFailure:
        text = self._assertions.explain(line)
        if self._is_fatal:
            rank = _BARE_EXCEPTION if is_bare_exception(text) else _CAUSE
            return LogFailure(rank, text.lstrip("`"), _sentence(text))
        return LogFailure(None, text, f"A request failed; the server keeps running: {text}")


def _read_plain(text: str) -> LogFailure | None:
    if (failure := read_machine_failure(text, _CAUSE, _ECHO_RANK)) is not None:
        return failure
    if _ECHO.search(text):
        return LogFailure(_ECHO_RANK, text, text)
    if _DIRECT_CAUSE.search(text) or _KILLED.search(text):
        return LogFailure(_CAUSE, text.lstrip("`"), _sentence(text))
    for pattern, sentence in _WARNINGS:
        if pattern.search(text):
            return LogFailure(None, text, sentence)
    return None


def _sentence(text: str) -> str:
    bare = text.lstrip("`")
    return next((f"{sentence} {bare}" for pattern, sentence in _SENTENCES if pattern.search(text)), bare)
