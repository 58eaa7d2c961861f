"""Parses a log file into one JSON object on a stream, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, TextIO

import orjson

from domain import JsonValue
from engines.base import Engine, LogEvent, LogMark, LogParser, LogReading, ParsedSample
from engines.recognition import LogWriter, recognise, unread_reason
from engines.routers import router_parser
from machine.regular_file import open_regular, pin_path
from machine.text_encoding import as_utf8

_CHUNK_BYTES = 1 << 22
_MOST_WARNINGS = 50
_UNKNOWN = LogReading("", None, {}, [])


@dataclass
class _Warning:
    line: int  # the first with this warning
    count: int = 1


def parse_file(path: Path, engines: Iterable[Engine], out: TextIO) -> None:
    """Write {"samples", "warnings", "engine", "router", "reason", "version", "startup", "errors"}.

    Raises OSError if the file cannot be read, NotRegularError for a pipe or a device.

    `engines` are the candidates for the text; "engine" is null if none of them wrote it. "router" is the title of the
    router that wrote it, else null. "reason" says why the text is read as no log; it is null if it is one.
    """
    candidates = tuple(engines)
    with open_regular(pin_path(path)) as raw, as_utf8(raw) as file:
        writer = _writer_of(file, candidates)
        parser = _parser_of(writer)
        file_size = file.seek(0, SEEK_END)
        file.seek(0)
        warnings: dict[str, _Warning] = {}
        reading = _UNKNOWN
        out.write('{"samples":[')
        if parser is not None:
            reading = _write_samples(file, parser, out, warnings)
        out.write("],")
    summary = reading._asdict() | {
        "engine": writer.engine.name if writer.engine else None,
        "router": writer.router.title if writer.router else None,
        "reason": None if parser else unread_reason(writer, "The file", file_size, candidates),
        "warnings": [
            {"line": warning.line, "text": text, "count": warning.count + reading.repeated_warnings.get(text, 0)}
            for text, warning in warnings.items()
        ],
    }
    del summary["has_died"]  # only useful together with the server's exit code
    del summary["repeated_warnings"]
    out.write(_as_json(summary)[1:] + "\n")


def _writer_of(file: BinaryIO, engines: tuple[Engine, ...]) -> LogWriter:
    """Return the only engine if there is one, else the writer that the file's lines show."""
    return LogWriter(engines[0]) if len(engines) == 1 else recognise(file, engines)


def _parser_of(writer: LogWriter) -> LogParser | None:
    if writer.router:
        return router_parser()
    return writer.engine.log.log_parser() if writer.engine and writer.engine.log else None


def _write_samples(file: BinaryIO, parser: LogParser, out: TextIO, warnings: dict[str, _Warning]) -> LogReading:
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
