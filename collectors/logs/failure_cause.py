"""The cause of a server's failure, as its own log states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Run
from engines import BY_NAME
from engines.base import LogParser, Mark
from machine.regular_file import NotRegularError, opened
from redaction import mask_text

_CHUNK_BYTES = 1 << 20


def failure_of(run: Run, exit_code: int | None = None) -> tuple[str, str | None] | None:
    """The cause in one sentence and the line that shows it; None when the log names none or cannot be read.

    A server that was ready and exited with 0 has failed only where its engine says of itself that it died: vLLM shuts
    down in order then. Other errors in its log it has survived.
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
    """The true cause, which a reading puts before its echoes, in one sentence, and the line that shows it.

    `evidence` is the failure marks' sentences with their lines; a cause without one is given in the engine's words.
    """
    if not errors:
        return None
    cause = errors[0].removesuffix(" …")
    shown = ((sentence, line) for sentence, line in evidence.items() if line and cause in line)
    sentence, line = next(shown, (errors[0], None))
    return mask_text(sentence), mask_text(line) if line else None


def _failures(path: Path, parser: LogParser) -> list[Mark]:
    marks: list[Mark] = []
    with opened(path) as file:
        while data := file.read(_CHUNK_BYTES):
            marks += [e for e in parser.feed(data) if isinstance(e, Mark) and e.kind == "failure"]
    marks += [e for e in parser.close() if isinstance(e, Mark) and e.kind == "failure"]
    return marks
