"""Sentences on how a process ended, the tail of its log, and the line of the tail that explains the end."""

from __future__ import annotations

import os
import re
import signal
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from engines.access_log import is_poll
from launcher.processes.process import ProcessExit
from machine.regular_file import NotRegularError, open_regular
from redaction import mask_text

TAIL_LINES = 40
TAIL_BYTES = 64 * 1024
LOOK_BACK_LINES = 5  # an error further up is hardly the cause of the end
_ADVICE = re.compile(
    r"(?:Run|See|Try|Use) ['\"`].{1,80}-?-h(?:elp)?\b|for (?:more|further) (?:information|details|help)|"
    r"see (?:above|logs?|the logs?)\b|usage:|note: |hint: ",
    re.IGNORECASE,
)
# A parent's report that its child failed; the child has said why.
_REPORTS = re.compile(
    r"CalledProcessError|ChildFailedError|returned non-zero exit status|^make(?:\[\d+\])?: \*\*\*|^Caused by: |"
    r"exited with (?:exit )?(?:code|status) \d+\.?$"
)
_PROBLEMS = re.compile(
    r"\b(?:error|fatal|fail(?:ed|ure)?|cannot|can't|could not|unable|denied|refused|not found|no such|not exist|"
    r"invalid|unknown|unrecognized|unsupported|required|missing|killed|aborted)\b|[a-z](?:Error|Exception)\b",
    re.IGNORECASE,
)
SIGNAL_WORDS = {
    signal.SIGKILL: "was killed by the kernel or by hand (SIGKILL), perhaps out of memory",
    signal.SIGSEGV: "crashed (SIGSEGV, a memory fault)",
    signal.SIGABRT: "aborted itself (SIGABRT)",
    signal.SIGBUS: "crashed (SIGBUS, a memory fault)",
    signal.SIGILL: "crashed (SIGILL: built for another CPU?)",
    signal.SIGTERM: "was terminated (SIGTERM), not by Pitwall",
    signal.SIGINT: "was interrupted (SIGINT), not by Pitwall",
}


def describe_exit(end: ProcessExit, subject: str = "The server") -> str:
    """Return one sentence: 'The server exited with code 1.'"""
    if end.exit_code is not None:
        wrapped_signal = _signal_name(end.exit_code - 128)  # how shells and container tools report a signal
        return f"{subject} exited with code {end.exit_code}{f' (128 + {wrapped_signal})' if wrapped_signal else ''}."
    if end.signal is not None:
        description = SIGNAL_WORDS.get(signal.Signals(end.signal)) if _signal_name(end.signal) else None
        return f"{subject} {description or f'was ended by signal {_signal_name(end.signal) or end.signal}'}."
    if end.cause and end.cause.startswith("exit code unknown"):
        return f"{subject} ended; {end.cause}."
    return end.cause or f"{subject} ended."


def _signal_name(number: int) -> str | None:
    return next((member.name for member in signal.Signals if member == number), None)


def log_tail(path: Path, secrets: Iterable[str] = ()) -> list[str]:
    """Return the last 40 lines of a log without Pitwall's own polls, secrets masked; empty if there is no log."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except (FileNotFoundError, NotRegularError):
        return []
    last = deque((line for line in lines if not is_poll(line)), TAIL_LINES)
    return [mask_text(line, secrets) for line in last]


def explaining_line(tail: Sequence[str]) -> str | None:
    """Return the line of a log's tail that tells why the process ended; None if no line has text.

    This is the last line that is neither advice ("Run 'docker run --help'") nor a report about a child process. If it
    names no problem, a problem in one of the five lines above it comes first.
    """
    lines = [line for line in tail if any(map(str.isalpha, line))]
    telling = [line for line in lines if not _ADVICE.search(line) and not _REPORTS.search(line.strip())]
    candidates = list(reversed(telling or lines))
    problems = filter(_PROBLEMS.search, candidates[: LOOK_BACK_LINES + 1])
    return next(problems, next(iter(candidates), None))
