"""Recognises the engine of a foreign log, a large one in a process of its own at the lowest priority.

A pattern over MiBs of a file that is no log of an engine takes seconds, in which no other thread of its process runs.
`python -m collectors.imports.log_recognition FILE` prints the searched bytes after each part, then the engine's name,
or an empty line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collectors.imports.log_file import ReportProgress
from engines import BY_NAME, ENGINES
from engines.base import Engine, first_match
from machine.low_priority import lower_priority, printed_lines

ROOT = Path(__file__).resolve().parents[2]
PART_BYTES = 1 << 20
OVERLAP_BYTES = 1000  # of two parts: a line may lie across both
SMALL_BYTES = 1 << 19  # read in this process: a tenth of a second
SEARCHED_BYTES = 64 << 20  # a log names its engine long before


def recognise_log(log: Path, report: ReportProgress) -> Engine | None:
    """Return the engine that wrote a log; None if the first SEARCHED_BYTES have no line that only an engine writes.

    `report` may raise to cancel. Raises OSError.
    """
    size = min(log.stat().st_size, SEARCHED_BYTES)
    if size <= SMALL_BYTES:
        with log.open("rb") as file:
            return BY_NAME.get(list(_search(file))[-1])
    name = ""
    with printed_lines([sys.executable, "-m", __name__, str(log)], ROOT) as lines:
        for name in lines:
            if name.isdigit():
                report(int(name) / size)
    return BY_NAME.get(name)


def _search(file: BinaryIO) -> Iterator[str]:
    """Yield the searched bytes after each part; at last the name of the engine whose lines the file has, or ''."""
    searched_bytes, tail = 0, b""
    engine: Engine | None = None
    while engine is None and searched_bytes < SEARCHED_BYTES and (data := file.read(PART_BYTES)):
        searched_bytes += len(data)
        engine = first_match(ENGINES, (tail + data).decode("utf-8", "replace"))
        tail = data[-OVERLAP_BYTES:]
        yield str(searched_bytes)
    yield engine.name if engine is not None and _has_events(engine, file) else ""


def _has_events(engine: Engine, file: BinaryIO) -> bool:
    """Whether the file has a line that the engine's grammar reads: the name of an engine alone is not a log."""
    assert engine.log
    file.seek(0)
    parser = engine.log.log_parser()
    parts = (file.read(PART_BYTES) for _ in range(SEARCHED_BYTES // PART_BYTES))
    return any(parser.feed(data) for data in parts if data) or bool(parser.close())


def main(path: str) -> None:
    """Print what `_search` finds."""
    lower_priority()
    with Path(path).open("rb") as file:
        for line in _search(file):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
