"""Parses a log file into one JSON object on a stream, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

import orjson

from domain import JsonValue
from engines.base import Engine, LogEvent, LogGrammar, LogMark, LogParser, LogReading, ParsedSample, first_match
from machine.regular_file import open_regular, pin_path

_CHUNK_BYTES = 1 << 22
_MOST_WARNINGS = 50
_UNKNOWN = LogReading("", None, {}, [])


@dataclass
class _Warning:
    line: int  # the first with this warning
    count: int = 1


def parse_file(path: Path, engines: Iterable[Engine], out: TextIO) -> None:
    """Write {"samples", "warnings", "engine", "version", "startup", "errors"}.

    Raises OSError if the file cannot be read, NotRegularError for a pipe or a device.

    `engines` are the candidates for the text; "engine" is null if none of them recognises it.
    """
    with open_regular(pin_path(path)) as file:
        engine = recognise(file, tuple(engines))
        file.seek(0)
        warnings: dict[str, _Warning] = {}
        reading = _UNKNOWN
        out.write('{"samples":[')
        if engine is not None and engine.log is not None:
            reading = _write_samples(file, engine.log, out, warnings)
        out.write("],")
    summary = reading._asdict() | {
        "engine": engine.name if engine else None,
        "warnings": [
            {"line": warning.line, "text": text, "count": warning.count + reading.repeated_warnings.get(text, 0)}
            for text, warning in warnings.items()
        ],
    }
    del summary["has_died"]  # only useful together with the server's exit code
    del summary["repeated_warnings"]
    out.write(_as_json(summary)[1:] + "\n")


def recognise(file: BinaryIO, engines: tuple[Engine, ...]) -> Engine | None:
    """Return the engine whose log this is, searching from the start; None if no engine recognises it."""
    if len(engines) == 1:
        return engines[0]
    tail = b""
    while data := file.read(_CHUNK_BYTES):
        engine = first_match(engines, (tail + data).decode("utf-8", "replace"))
        if engine is not None:
            return engine
        tail = data[-1000:]
    return None


def _write_samples(file: BinaryIO, grammar: LogGrammar, out: TextIO, warnings: dict[str, _Warning]) -> LogReading:
    parser = grammar.log_parser()
    separator = ""
    for events in _events_by_chunk(file, parser):
        samples = []
        for event in events:
            if isinstance(event, ParsedSample):
                samples.append({"line": event.line, **event.fields})
            elif isinstance(event, LogMark) and event.kind == "warning":
                _count_warning(warnings, event)
        if samples:
            out.write(separator + _as_json(samples)[1:-1])
            separator = ","
    return parser.reading()


def _count_warning(warnings: dict[str, _Warning], mark: LogMark) -> None:
    if mark.text in warnings:
        warnings[mark.text].count += 1
    elif len(warnings) < _MOST_WARNINGS:
        warnings[mark.text] = _Warning(mark.line)


def _events_by_chunk(file: BinaryIO, parser: LogParser) -> Iterator[list[LogEvent]]:
    while data := file.read(_CHUNK_BYTES):
        yield parser.feed(data)
    yield parser.close()


def _as_json(value: JsonValue) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
