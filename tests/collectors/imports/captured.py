"""Files that the tools wrote: some are kept here, all of them where PITWALL_CORPUS names a corpus of more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.folder import open_folder
from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from load_records import Accuracy, AccuracyItem, RequestRecord, Result

HERE = Path(__file__).resolve().parent.parent.parent / "captures"
CORPUS = os.environ.get("PITWALL_CORPUS")
ELSEWHERE = Path(CORPUS).parent / "captures/bench" if CORPUS else None
SOURCES = sorted((Path(CORPUS).parent / "sources").glob("*.txt")) if CORPUS else []
DATED = datetime(2026, 11, 22, 12, tzinfo=UTC)


def captured(name: str) -> Path:
    """A file or folder by its name below the captures; the test is skipped where it lies nowhere."""
    for top in filter(None, (HERE, ELSEWHERE)):
        if (top / name).exists():
            return top / name
    pytest.skip(f"{name} is not kept here, and PITWALL_CORPUS names no folder beside it")


def ticket_of(name: str = "f", sha256: str = "0" * 64) -> Ticket:
    return Ticket("r", "t", name, sha256, DATED)


def loads_of(path: Path) -> list[LoadBuilder]:
    """What the importer makes of a file or a folder."""
    if path.is_dir():
        folder = open_folder(path)
        return folder.read(folder.files, ticket_of(path.name))
    source = ResultFile(path, path.name)
    reader = reader_of(source)
    assert reader, f"nobody reads {path.name}"
    return reader.read(source, ticket_of(path.name))


def load_of(path: Path) -> LoadBuilder:
    (load,) = loads_of(path)
    return load


def results_of(load: LoadBuilder) -> list[Result]:
    return [row for row in load.rows if isinstance(row, Result)]


def requests_of(load: LoadBuilder) -> list[RequestRecord]:
    return [row for row in load.rows if isinstance(row, RequestRecord)]


def accuracies_of(load: LoadBuilder) -> list[Accuracy]:
    return [row for row in load.rows if isinstance(row, Accuracy)]


def items_of(load: LoadBuilder) -> list[AccuracyItem]:
    return [row for row in load.rows if isinstance(row, AccuracyItem)]


def result_at(rows: Sequence[Result], metric: str, statistic: str, point: str | None = None) -> Result:
    (found,) = [r for r in rows if (r.metric, r.statistic) == (metric, statistic) and point in (None, r.point)]
    return found


def value(rows: Sequence[Result], metric: str, statistic: str, point: str | None = None) -> float:
    value = result_at(rows, metric, statistic, point).value
    assert value is not None
    return value
