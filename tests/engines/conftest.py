"""Reading a log through an engine's grammar, as the product does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from engines import BY_NAME
from engines.base import LogEvent, LogMark, LogReading, ParsedSample


class ReadLog(NamedTuple):
    """The events of a whole log and what it says beside them."""

    events: list[LogEvent]
    reading: LogReading

    @property
    def samples(self) -> list[ParsedSample]:
        return [event for event in self.events if isinstance(event, ParsedSample)]

    def marks(self, kind: str) -> list[str]:
        return [event.text for event in self.events if isinstance(event, LogMark) and event.kind == kind]


def read_log(engine: str, text: str | bytes, chunk: int | None = None) -> ReadLog:
    grammar = BY_NAME[engine].log
    assert grammar is not None
    parser = grammar.log_parser()
    data = text.encode() if isinstance(text, str) else text
    size = chunk or max(len(data), 1)
    events = [event for start in range(0, len(data), size) for event in parser.feed(data[start : start + size])]
    events += parser.close()
    assert parser.settled_offset() == len(data)
    return ReadLog(events, parser.reading())


@pytest.fixture(name="read_log")
def read_log_fixture() -> Callable[..., ReadLog]:
    return read_log
