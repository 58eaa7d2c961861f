"""Recognises the writer of a foreign log, a large one in a process of its own at the lowest priority.

A pattern over MiBs of a file that is no log of an engine takes seconds, in which no other thread of its process runs.
`python -m collectors.imports.log_recognition FILE` prints the searched bytes after each part, then the name of the
engine, the title of the router, or an empty line.
"""

from __future__ import annotations

import sys
from pathlib import Path

from collectors.imports.log_file import ReportProgress
from engines import BY_NAME, ENGINES
from engines.recognition import SEARCHED_BYTES, LogWriter, recognise
from engines.routers import ROUTERS
from machine.low_priority import lower_priority, printed_lines

ROOT = Path(__file__).resolve().parents[2]
NAMED = "?"  # before an engine whose name alone stands in the text
SMALL_BYTES = 1 << 19  # read in this process: a tenth of a second


def recognise_log(log: Path, report: ReportProgress) -> LogWriter:
    """Return the writer of a log, an engine or a router; `report` may raise to cancel. Raises OSError."""
    size = min(log.stat().st_size, SEARCHED_BYTES)
    if size <= SMALL_BYTES:
        with log.open("rb") as file:
            return recognise(file, ENGINES)
    name = ""
    with printed_lines([sys.executable, "-m", __name__, str(log)], ROOT) as lines:
        for name in lines:
            if name.isdigit():
                report(int(name) / size)
    router = next((router for router in ROUTERS if router.title == name), None)
    return LogWriter(
        BY_NAME.get(name), router, BY_NAME.get(name.removeprefix(NAMED)) if name.startswith(NAMED) else None
    )


def main(path: str) -> None:
    """Print the searched bytes after each part, then the writer's name."""
    lower_priority()
    with Path(path).open("rb") as file:
        engine, router, named = recognise(file, ENGINES, lambda size: _print(str(size)))
    _print(engine.name if engine else router.title if router else f"{NAMED}{named.name}" if named else "")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
