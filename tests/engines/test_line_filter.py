"""A grammar's line filter only saves time: without it the same log gives the same events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import LogEvent, LogParser
from engines.line_filter import LineFilter

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CORPUS = os.environ.get("PITWALL_CORPUS")
FOLDERS = (FIXTURES, *([Path(CORPUS)] if CORPUS else []))
GRAMMARS = {engine.name: engine.log for engine in ENGINES if engine.log}
LOGS = sorted(path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in (".log", ".jsonl"))


def engine_of(path: Path) -> str | None:
    """The engine whose log this is, by the folder or the name of the file."""
    return next((name for name in GRAMMARS if name in (*path.parts, path.name.partition("-")[0])), None)


def parse(parser: LogParser, data: bytes) -> list[LogEvent]:
    events = list(parser.feed(data))
    return [*events, *parser.close()]


def unfiltered(parser: LogParser) -> LogParser:
    """A parser of the same grammar to which every line is decoded."""
    unfiltered_class = type("Unfiltered", (type(parser),), {"LINE_FILTER": LineFilter()})
    instance: LogParser = unfiltered_class()
    return instance


def logs() -> Iterator[object]:
    for path in LOGS:
        if name := engine_of(path):
            yield pytest.param(name, path, id=f"{name}-{path.stem}")


@pytest.mark.parametrize(("name", "path"), list(logs()))
def test_same_events_without_filter(name: str, path: Path) -> None:
    grammar = GRAMMARS[name]
    data = path.read_bytes()
    events = parse(grammar.log_parser(), data)
    assert parse(unfiltered(grammar.log_parser()), data) == events


def test_every_grammar_is_tried() -> None:
    assert {engine_of(path) for path in LOGS} >= {"vllm", "sglang", "llamacpp"}
    assert all(type(grammar.log_parser()).LINE_FILTER.needles for grammar in GRAMMARS.values())
