"""Why a server failed, as its own log says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Run
from engines import BY_NAME
from engines.base import LogParser, Mark
from launcher.secrets import mask_text

_CHUNK_BYTES = 1 << 20


def failure_of(run: Run) -> tuple[str, str | None] | None:
    """The cause in one sentence and the line that shows it; None when the log names none or cannot be read."""
    engine = BY_NAME.get(run.config.engine)
    if engine is None or engine.log is None or run.log_path is None:
        return None
    parser = engine.log.log_parser()
    try:
        marks = _failures(Path(run.log_path), parser)
    except OSError:
        return None
    return first_cause(parser.reading().errors, {mark.text: mark.evidence for mark in marks})


def first_cause(errors: Sequence[str], evidence: Mapping[str, str | None]) -> tuple[str, str | None] | None:
    """The true cause, which a reading puts before its echoes, and its line as it stands in the log, if that is known.

    `evidence` is the failure marks' texts with their lines; a mark's text may be the cause or an explanation of it.
    """
    if not errors:
        return None
    cause = errors[0]
    line = evidence.get(cause) or next((line for line in evidence.values() if line and cause in line), None)
    return mask_text(cause), mask_text(line) if line else None


def _failures(path: Path, parser: LogParser) -> list[Mark]:
    marks: list[Mark] = []
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            marks += [e for e in parser.feed(data) if isinstance(e, Mark) and e.kind == "failure"]
    marks += [e for e in parser.close() if isinstance(e, Mark) and e.kind == "failure"]
    return marks
