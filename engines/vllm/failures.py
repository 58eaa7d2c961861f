"""Failure causes of a vLLM server, separated from their echoes, refused requests and shutdowns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from engines.bare_exceptions import Assertions, CompilationCauses, is_bare_exception
from engines.base import ParsedLine
from engines.line_reader import LogFailure
from engines.machine_failures import read_machine_failure
from engines.vllm.causes import explain_cause

# The failure itself; an exception without a message; the engine's report of a failure; a consequence of them.
CAUSE, BARE_EXCEPTION, REPORT, ECHO = range(4)
_MAX_CAUSE_CHARS = 500
_MOST_PROCESSES = 1000

_EXCEPTION = re.compile(
    r"(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z]\w*(?:Error|Exception|Failure|Failed|Timeout|OutOfResources|Unsupported)(?:\(\w+\))?)"
    r"(?:: \S|:?$)|Value error, "
)
_WRITTEN = re.compile(  # as the engine of V0 logs it before its traceback
    r"(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z]\w*(?:Error|Exception))\((?P<quote>['\"])(?P<message>.{1,1000})(?P=quote),?\)$"
)
_NO_FAILURE = ("asyncio.exceptions.CancelledError", "asyncio.CancelledError", "CancelledError")
_ECHOES = re.compile(
    r"EngineDeadError|Engine core initialization failed|Engine process failed to start|AsyncEngineDeadError|"
    r"MQEngineDeadError|WorkerProc initialization failed|Worker failed with error|torch\.distributed\.DistBackendError|"
    r"Background loop (?:is stopped|has errored)|EOFError|BrokenPipeError|ConnectionResetError|"
    r"cancelled|shm_broadcast|TimeoutError: (?:RPC call|Timed out)",
)
# vLLM's messages when an essential process is gone. It then shuts down and exits with 0.
_DEAD = re.compile(r"EngineDeadError|engine core exited unexpectedly|[Ww]orker proc \S+ died unexpectedly")
_DEAD_ENGINE = re.compile(r"EngineCore encountered an issue\. See stack trace \(above\) for the root cause\.")
_REPORTS = re.compile(
    r"Failed to start model server: |"  # of KServe, around the engine
    r"EngineCore(?:Proc)? (?:failed to start|encountered a fatal error|hit an exception)|engine core exited|"
    r"[Ww]orker proc \S+ died unexpectedly|Worker \S+ (?:pid \d+ )?died, exit code|died unexpectedly|"
    r"WorkerProc (?:failed to start|hit an exception)|Engine (?:loop|core) .{0,20}(?:died|dead)"
)
_ANNOUNCED = re.compile(r"ValidationError: \d+ validation errors? for ")  # the next lines have the errors
_FATAL = re.compile(
    r"CUDA out of memory|OutOfMemoryError|out of memory occurred when|CUDA error: |HIP error: |HIP out of memory|"
    r"No available memory for the cache blocks|KV cache is needed, which is larger|"
    r"is larger than the maximum number of tokens that can be stored in KV cache|"
    r"is less than desired GPU memory utilization|Address already in use|address already in use|"
    r"are not supported for now|illegal memory access|device-side assert|UR_RESULT_ERROR|NCCL error|"
    r"[Cc]an't pickle|cannot pickle|weight_scale"
)
_SENTENCE = re.compile(
    r"\[Errno 98\]|Failed to load model - not enough GPU memory|"
    r"The model's max seq len \(\d+\) is larger than the maximum number of tokens that can be stored in KV cache|"
    r"No available memory for the cache blocks|To serve at least one request with the model|"
    r"Free memory on device .{1,80} is less than desired GPU memory utilization|CUDA out of memory|"
    r"OutOfMemoryError\(['\"]|Cuda failure '|(?:CUDA|HIP) error: \S"
)
_IN_WORKER = re.compile(  # of V0
    r"Exception in worker \S{1,80} while processing method \w{1,80}: (?P<cause>\S.{2,400}?)(?:, Traceback \(most|\.?$)"
)
_ARGUMENTS = re.compile(r"(?:vllm(?: \w+)?|[\w.-]+\.py): error: .")
_KILLED = re.compile(
    r"(?:^|: line \d+: +\d+ )Killed\b|Out of memory: Killed process|oom-kill|Segmentation fault|Segfault encountered|"
    r"\bkilled by signal|SIGKILL|SIGSEGV|terminated by signal"
)
_REQUEST_FILES = re.compile(
    r"[\[ /](?:serving\w*|chat_utils|protocol|\w*(?:tool_parser|reasoning_parser)\w*|launcher|httptools_impl|h11_impl|"
    r"api_router|api_utils|\w+_connector|utils_entrypoint|request_logger|error_handling|server_utils)\.py:\d+\]"
)
_REQUEST_TALK = re.compile(
    r"Exception in ASGI application|Error (?:in|while|with) .{0,60}(?:request|prompt|input|chat|tool|stream)|"
    r"Exception in thread|Exception ignored in|Task exception was never retrieved|Error in preprocessing"
)
_ORDERED = re.compile(
    r"shutdown triggered|Shutting down|[Rr]eceived SIG(?:TERM|INT)|signal=SIG(?:TERM|INT)|"
    r"KeyboardInterrupt|Gracefully stopping"
)
_SHUTDOWN = re.compile(rf"\[shutdown\]|{_ORDERED.pattern}")
IN_ANY_CONTEXT = "|".join(
    pattern.pattern for pattern in (_REPORTS, _KILLED, _ARGUMENTS, _SENTENCE, _ECHOES, _DEAD_ENGINE, _FATAL, _SHUTDOWN)
)
_CHAINED = re.compile(r"During handling of the above exception|The above exception was the direct cause")
_MAX_TRACEBACK_LINES = 20  # lines between an announcement and its traceback, including other processes' lines
FAILURE_LEVELS = ("ERROR", "CRITICAL", "FATAL")
NOTABLE_LEVELS = (*FAILURE_LEVELS, "WARNING")


class _Traits(NamedTuple):
    """Properties of a text, independent of the process that prints it."""

    is_shutdown: bool
    is_ordered: bool  # a requested shutdown, not the engine's own after a death
    is_dead: bool
    is_request_talk: bool
    is_chained: bool
    starts_traceback: bool
    rank: int | None  # of a text that is a failure in any context
    is_exception: bool  # a failure unless it belongs to a request


@lru_cache(maxsize=1024)
def _traits(text: str) -> _Traits:
    match = _EXCEPTION.match(text)
    is_exception = match is not None and match["name"] not in _NO_FAILURE
    return _Traits(
        is_shutdown=_SHUTDOWN.search(text) is not None,
        is_ordered=_ORDERED.search(text) is not None,
        is_dead=_DEAD.search(text) is not None,
        is_request_talk=_REQUEST_TALK.search(text) is not None,
        is_chained=_CHAINED.search(text) is not None,
        starts_traceback=text.startswith("Traceback (most"),
        rank=_rank(text, is_exception),
        is_exception=is_exception,
    )


def _rank(text: str, is_exception: bool) -> int | None:
    if _REPORTS.search(text):
        return REPORT
    if _KILLED.search(text) or _ARGUMENTS.match(text) or _SENTENCE.match(text):
        return CAUSE
    if is_exception and _ECHOES.search(text):
        return ECHO
    return CAUSE if is_exception and _FATAL.search(text) else None


def _exception_rank(text: str) -> int:
    if _ANNOUNCED.search(text):
        return REPORT
    return BARE_EXCEPTION if is_bare_exception(text) else CAUSE


class VllmFailureReader:
    """Reads lines in order and detects failures; tracks per process whether a request's error is being printed."""

    def __init__(self) -> None:
        self._request_talk: dict[str | None, int] = {}  # process -> the line it began in
        self._is_serving = False
        self._is_stopping = False
        self._is_ordered = False
        self.has_died = False  # reported by the engine
        self._assertions = Assertions()
        self._compilation_causes = CompilationCauses()

    def begin_start(self) -> None:
        """Reset the state for a new start."""
        self._request_talk.clear()
        self._is_serving = self._is_stopping = self._is_ordered = self.has_died = False

    def note_serving(self) -> None:
        """Note that the server answers: further tracebacks of the API server are requests', unless known as fatal.

        A death reported before was then a request's text.
        """
        self._is_serving, self.has_died = True, False

    def read(self, line: ParsedLine) -> LogFailure | None:
        """Return the failure that the line reports; None for requests' failures, and for everything in a shutdown."""
        text = line.text.strip()
        traits = _traits(text)
        self._is_ordered = self._is_ordered or traits.is_ordered
        if traits.is_dead and not self._is_ordered and line.level in NOTABLE_LEVELS:
            self.has_died = True
            if self._is_stopping or traits.is_shutdown:  # the report may come during the shutdown that it causes
                return None if traits.rank is None else _failure(traits.rank, text)
        self._is_stopping = self._is_stopping or traits.is_shutdown
        if self._is_stopping or line.level not in (*FAILURE_LEVELS, None):
            return None
        if (failure := read_machine_failure(text, CAUSE, ECHO)) is not None:
            return failure
        self._follow(line, traits)
        self._assertions.note(line)
        if match := _IN_WORKER.match(text):
            return _failure(CAUSE, match["cause"])
        if self._compilation_causes.is_cause(line) and self._is_server_failure(line):
            return _failure(CAUSE, text)
        if traits.rank is not None:
            return _failure(traits.rank, text)
        if traits.is_exception and self._is_server_failure(line):
            explained = self._assertions.explain(line)
            return _failure(_exception_rank(explained), explained)
        return self._read_mention(line, text)

    def _read_mention(self, line: ParsedLine, text: str) -> LogFailure | None:
        """Return the failure that a record at an error level mentions without being an exception's own line."""
        if line.level not in FAILURE_LEVELS:
            return None
        if dead_engine := _DEAD_ENGINE.search(text):
            return _failure(ECHO, dead_engine[0])
        record = _WRITTEN.match(text)
        if record is None or not self._is_server_failure(line):
            return None
        return _failure(CAUSE, f"{record['name']}: {record['message']}")

    def _follow(self, line: ParsedLine, traits: _Traits) -> None:
        """Track whether the process is printing a request's traceback."""
        talk_lines = self._request_talk
        if traits.is_request_talk or (line.level == "ERROR" and _REQUEST_FILES.search(line.raw)):
            if len(talk_lines) > _MOST_PROCESSES:
                talk_lines.clear()
            talk_lines[line.process] = line.number
        elif traits.is_chained and line.process in talk_lines:
            talk_lines[line.process] = line.number
        elif traits.starts_traceback and line.number - talk_lines.get(line.process, 0) <= _MAX_TRACEBACK_LINES:
            return
        elif line.level == "ERROR" or traits.starts_traceback:
            talk_lines.pop(line.process, None)

    def _is_server_failure(self, line: ParsedLine) -> bool:
        """Whether the exception is the server's: before serving any process's counts, then only an engine's."""
        if line.process in self._request_talk:
            return False
        is_engine = line.process is not None and not line.process.lower().startswith("apiserver")
        return is_engine or not self._is_serving


def _failure(rank: int, text: str) -> LogFailure:
    cause = text if len(text) <= _MAX_CAUSE_CHARS else text[: _MAX_CAUSE_CHARS - 2].rstrip() + " …"
    return LogFailure(rank, cause, explain_cause(cause))
