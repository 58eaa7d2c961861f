"""Recognises the engine of a foreign log, a large one in a process of its own at the lowest priority.

A pattern over MiBs of a file that is no log of an engine takes seconds, in which no other thread of its process runs.
`python -m collectors.imports.log_recognition FILE` prints the searched bytes after each part, then the engine's name,
or an empty line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from collectors.imports.log_file import ReportProgress
from engines import BY_NAME, ENGINES
from engines.base import Engine, first_match
from machine.low_priority import lower_priority, printed_lines

ROOT = Path(__file__).resolve().parents[2]
PART_BYTES = 1 << 20
OVERLAP_BYTES = 1000  # of two parts: a line may lie across both
SMALL_BYTES = 1 << 19  # read in this process: a tenth of a second
NAME_ONLY = "?"  # before an engine whose name alone was found
SEARCHED_BYTES = 64 << 20  # a log names its engine long before


class Recognition(NamedTuple):
    """The engine that a text names; is_log: it has a line that the engine's grammar reads."""

    engine: Engine | None = None
    is_log: bool = False


def recognise_log(log: Path, report: ReportProgress) -> Recognition:
    """Return the engine that wrote a log, by its first SEARCHED_BYTES.

    `report` may raise to cancel. Raises OSError.
    """
    size = min(log.stat().st_size, SEARCHED_BYTES)
    line = ""
    if size <= SMALL_BYTES:
        with log.open("rb") as file:
            line = list(_search(file))[-1]
    else:
        with printed_lines([sys.executable, "-m", __name__, str(log)], ROOT) as lines:
            for line in lines:
                if line.isdigit():
                    report(int(line) / size)
    return Recognition(BY_NAME.get(line.removeprefix(NAME_ONLY)), not line.startswith(NAME_ONLY))


def _search(file: BinaryIO) -> Iterator[str]:
    """Yield the searched bytes after each part; at last the name of the engine, marked if it has no lines, or ''."""
    searched_bytes, tail = 0, b""
    engine: Engine | None = None
    while engine is None and searched_bytes < SEARCHED_BYTES and (data := file.read(PART_BYTES)):
        searched_bytes += len(data)
        engine = first_match(ENGINES, (tail + data).decode("utf-8", "replace"))
        tail = data[-OVERLAP_BYTES:]
        yield str(searched_bytes)
    if engine is None:
        yield ""
    else:
        yield engine.name if _has_events(engine, file) else f"{NAME_ONLY}{engine.name}"


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
