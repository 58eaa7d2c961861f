"""A tool that was cancelled: what it had written whole is taken in, labelled as cut short; what it had begun is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from storage.store import Store
from tests.collectors.imports.captured import captured

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def importer(store: Store) -> ResultImporter:
    return ResultImporter(store, lambda: NOW)


def take(importer: ResultImporter, path: Path, is_cut: bool = True) -> None:
    importer.import_results(path, ImportOptions(path.name, is_cut=is_cut), lambda share: None)


def cut(folder: Path, name: str, lines: int, of_next: int) -> list[bytes]:
    """So many whole lines of a captured file and the beginning of the next, in a folder; the whole ones."""
    whole = captured(name).read_bytes().splitlines(keepends=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / Path(name).name).write_bytes(b"".join(whole[:lines]) + whole[lines][:of_next])
    return whole[:lines]


def rows_of(store: Store, query: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in store.query(query).to_pylist()]


@pytest.mark.parametrize("of_next", [0, 1, 200])
def test_whole_records_are_taken(store: Store, importer: ResultImporter, tmp_path: Path, of_next: int) -> None:
    lines = cut(tmp_path / "results", "aiperf/run/profile_export.jsonl", 5, of_next)
    (tmp_path / "results/profile_export_aiperf.json").write_text('{"aiperf_version": "0.13.0", "request_thr')
    take(importer, tmp_path / "results")
    assert rows_of(store, "SELECT count(*) FROM requests") == [(len(lines),)]
    assert rows_of(store, "SELECT is_complete FROM load_phases") == [(False,)]
    ((params,),) = rows_of(store, "SELECT params FROM loads")
    assert json.loads(str(params))["cut_short"] is True


def test_unfinished_request_is_cancelled(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in cut(tmp_path / "results", "llama-benchy/pair/progress.jsonl", 40, 30)]
    request_ids = [line["request_id"] for line in lines if line["type"] == "request_start"]
    ended = [line["request_id"] for line in lines if line["type"] == "request_end"]
    assert len(request_ids) > len(ended)
    take(importer, tmp_path / "results")
    assert rows_of(store, "SELECT count(*), count(*) FILTER (error_kind = 'cancelled') FROM requests") == [
        (len(request_ids), len(request_ids) - len(ended))
    ]


def test_bad_line_in_the_middle_refuses_all(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    cut(tmp_path / "results", "aiperf/run/profile_export.jsonl", 5, 10)
    path = tmp_path / "results/profile_export.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"}\n", 1))
    with pytest.raises(ImportRefusedError, match="line 1"):
        take(importer, tmp_path / "results")
    assert rows_of(store, "SELECT count(*) FROM loads") == [(0,)] and store.runs() == []


def test_manual_import_of_cut_file_names_the_line(importer: ResultImporter, tmp_path: Path) -> None:
    cut(tmp_path / "results", "aiperf/run/profile_export.jsonl", 5, 10)
    with pytest.raises(ImportRefusedError, match="line 6: it is cut off here"):
        take(importer, tmp_path / "results", is_cut=False)
