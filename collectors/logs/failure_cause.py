"""Cause of a server's failure, from its own log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Run
from engines import BY_NAME
from engines.base import LogMark, LogParser
from machine.regular_file import NotRegularError, open_regular
from redaction import mask_text

_CHUNK_BYTES = 1 << 20


def failure_of(run: Run, exit_code: int | None = None) -> tuple[str, str | None] | None:
    """Return the cause in one sentence and the line that shows it; None if the log has none or cannot be read.

    A server that exited with 0 has failed only if its log says that the engine died (vLLM then shuts down in order);
    it has survived all other errors in its log.
    """
    engine = BY_NAME.get(run.config.engine)
    if engine is None or engine.log is None or run.log_path is None:
        return None
    parser = engine.log.log_parser()
    try:
        marks = _failures(Path(run.log_path), parser)
    except (OSError, NotRegularError):
        return None
    reading = parser.reading()
    if exit_code == 0 and not reading.has_died:
        return None
    return first_cause(reading.errors, {mark.text: mark.evidence for mark in reversed(marks)})


def first_cause(errors: Sequence[str], evidence: Mapping[str, str | None]) -> tuple[str, str | None] | None:
    """Return the first error, the cause of those after it, in one sentence, and the line that shows it.

    `evidence`: the failure marks' sentences with their lines; a cause without a mark is quoted from the log.
    """
    if not errors:
        return None
    cause = errors[0].removesuffix(" …")
    candidates = (
        (sentence, line) for sentence, line in evidence.items() if line and (cause in line or cause == sentence)
    )
    sentence, line = next(candidates, (errors[0], None))
    return mask_text(sentence), mask_text(line) if line else None


def _failures(path: Path, parser: LogParser) -> list[LogMark]:
    marks: list[LogMark] = []
    with open_regular(path) as file:
        while data := file.read(_CHUNK_BYTES):
            marks += [e for e in parser.feed(data) if isinstance(e, LogMark) and e.kind == "failure"]
    marks += [e for e in parser.close() if isinstance(e, LogMark) and e.kind == "failure"]
    return marks
