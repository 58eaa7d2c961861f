"""Why a server failed, as its own log says it."""

from __future__ import annotations

from pathlib import Path

from domain import Run
from engines import BY_NAME
from engines.base import LogParser, Mark

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
    errors = parser.reading().errors
    if not errors:
        return None
    # The reading puts the true cause before its echoes; its mark has the line as it stands in the log.
    mark = next((m for m in marks if m.text == errors[0]), None)
    return errors[0], mark.evidence if mark else None


def _failures(path: Path, parser: LogParser) -> list[Mark]:
    marks: list[Mark] = []
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            marks += [e for e in parser.feed(data) if isinstance(e, Mark) and e.kind == "failure"]
    marks += [e for e in parser.close() if isinstance(e, Mark) and e.kind == "failure"]
    return marks
