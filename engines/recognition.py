"""The rule by which a log's writer is recognised, the same for `parse` and for imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from engines.base import Engine
from engines.gpu_errors import without_driver_messages
from engines.other_programs import OtherProgram, find_other_program
from engines.routers import Router, split_router_records

PART_BYTES = 1 << 20
OVERLAP_BYTES = 1000  # of two parts: a line may lie across both
COMMAND_BYTES = 1 << 16  # of a log: a command stands at its beginning
SEARCHED_BYTES = 64 << 20  # a log names its engine long before


class LogWriter(NamedTuple):
    """The program that wrote a log; all are None if no line shows it. A router's log is no engine's.

    named: an engine whose name stands in the text, which has no line of its log.
    other: a program whose logs are not read.
    """

    engine: Engine | None = None
    router: Router | None = None
    named: Engine | None = None
    other: OtherProgram | None = None


def recognise(
    file: BinaryIO, engines: Sequence[Engine], report: Callable[[int], None] = lambda size: None
) -> LogWriter:
    """Return the writer of a log, from its first SEARCHED_BYTES. `report` takes the searched bytes after each part.

    An engine's name alone is not its log: a record in its format or a line that its grammar reads is. What its package
    writes when a program imports it counts unless another writer shows.
    """
    candidates, router, named, other, imported = list(engines), None, None, None, None
    searched_bytes, tail = 0, b""
    while searched_bytes < SEARCHED_BYTES and (data := file.read(PART_BYTES)):
        searched_bytes += len(data)
        part_router, text = split_router_records((tail + data).decode("utf-8", "replace"))
        router = router or part_router
        head = text if searched_bytes <= PART_BYTES else ""
        for engine in _named_engines(candidates, without_driver_messages(text), head[:COMMAND_BYTES]):
            if _has_record(engine, text) or _has_events(engine, file):
                return LogWriter(engine)
            candidates.remove(engine)
            named = named or engine
        other = other or find_other_program(text)
        imported = imported or _imported_engine(engines, text)
        tail = data[-OVERLAP_BYTES:].rpartition(b"\n")[2]  # the line that the part cuts
        report(searched_bytes)
    if imported and not (router or other or named):
        return LogWriter(imported)
    return LogWriter(None, router, named, None if router else other)


def unread_reason(writer: LogWriter, subject: str, size: int, engines: Sequence[Engine]) -> str:
    """Return the sentence that says why a file of `size` bytes is not read as a log, and which logs are."""
    titles = ", ".join(engine.title for engine in engines)
    if writer.other:
        return f"{subject} is a log of {writer.other.title}, which is not read; those of {titles} are."
    part = "contains" if size <= SEARCHED_BYTES else f"has in its first {SEARCHED_BYTES >> 20} MiB"
    title = writer.named.title if writer.named else ""
    name = f"; it has the name of {title}, but no start, statistic or failure of it" if title else ""
    return f"{subject} {part} no line that only a known engine writes ({titles}){name}."


def _named_engines(engines: Sequence[Engine], text: str, head: str) -> list[Engine]:
    named = [engine for engine in engines if engine.log and engine.log.recognises(text)]
    return named or [engine for engine in engines if engine.log and _is_started(engine, head)]


def _imported_engine(engines: Sequence[Engine], text: str) -> Engine | None:
    return next((engine for engine in engines if engine.import_record and engine.import_record.search(text)), None)


def _is_started(engine: Engine, head: str) -> bool:
    """Whether a line in the beginning of the log is a command that starts this engine's server."""
    if engine.invocation is None:
        return False
    start = rf"^(?:[^\n]{{0,100}}[$#>] |\+ )?(?:\w+=\S+ +)*(?:{engine.invocation.text_pattern})\s+\S"
    return re.search(start, head, re.MULTILINE) is not None


def _has_record(engine: Engine, text: str) -> bool:
    return engine.log is not None and engine.log.RECORD.search(text) is not None


def _has_events(engine: Engine, file: BinaryIO) -> bool:
    """Whether the engine's grammar reads a line of the file; the file's position stays."""
    assert engine.log
    position = file.tell()
    file.seek(0)
    parser = engine.log.log_parser()
    parts = (file.read(PART_BYTES) for _ in range(SEARCHED_BYTES // PART_BYTES))
    has_events = any(parser.feed(data) for data in parts if data) or bool(parser.close())
    file.seek(position)
    return has_events
