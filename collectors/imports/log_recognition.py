"""Recognises the writer of a foreign log, a large one in a process of its own at the lowest priority.

A pattern over MiBs of a file that is no log of an engine takes seconds, in which no other thread of its process runs.
`python -m collectors.imports.log_recognition FILE` prints the searched bytes after each part, then the writer: its role
and its name or title, or an empty line.
"""

from __future__ import annotations

import sys
from pathlib import Path

from collectors.imports.log_file import ReportProgress
from engines import BY_NAME, ENGINES
from engines.other_programs import OTHER_PROGRAMS
from engines.recognition import SEARCHED_BYTES, LogWriter, recognise
from engines.routers import ROUTERS
from machine.low_priority import lower_priority, printed_lines

ROOT = Path(__file__).resolve().parents[2]
SMALL_BYTES = 1 << 19  # read in this process: a tenth of a second


def recognise_log(log: Path, report: ReportProgress) -> LogWriter:
    """Return the writer of a log, an engine or a router; `report` may raise to cancel. Raises OSError."""
    size = min(log.stat().st_size, SEARCHED_BYTES)
    if size <= SMALL_BYTES:
        with log.open("rb") as file:
            return recognise(file, ENGINES)
    last_line = ""
    with printed_lines([sys.executable, "-m", __name__, str(log)], ROOT) as lines:
        for last_line in lines:
            if last_line.isdigit():
                report(int(last_line) / size)
    return _read_writer(last_line)


def _read_writer(line: str) -> LogWriter:
    role, _, name = line.partition(" ")
    return LogWriter(
        engine=BY_NAME.get(name) if role == "engine" else None,
        router=next((router for router in ROUTERS if role == "router" and router.title == name), None),
        named=BY_NAME.get(name) if role == "named" else None,
        other=next((program for program in OTHER_PROGRAMS if role == "other" and program.title == name), None),
    )


def _printed_writer(writer: LogWriter) -> str:
    """Return the writer as one line; of a log that is not read, its program rather than an engine that it names."""
    if writer.engine:
        return f"engine {writer.engine.name}"
    if writer.router:
        return f"router {writer.router.title}"
    if writer.other:
        return f"other {writer.other.title}"
    return f"named {writer.named.name}" if writer.named else ""


def main(path: str) -> None:
    """Print the searched bytes after each part, then the writer's name."""
    lower_priority()
    with Path(path).open("rb") as file:
        _print(_printed_writer(recognise(file, ENGINES, lambda size: _print(str(size)))))


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
