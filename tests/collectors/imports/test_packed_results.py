"""Packed result files: the same as unpacked ones, bounded in bytes and ratio; a packed log stays a log."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from collectors.imports.results import compression, source
from storage.store import Store
from tests.collectors.imports.captured import captured, loads_of

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FILES = ("sglang_bench/result.jsonl", "aiperf/run/profile_export.jsonl", "aiperf/run/profile_export_aiperf.json")


def as_gzip(data: bytes) -> bytes:
    return gzip.compress(data)


def as_zstd(data: bytes) -> bytes:
    packed_bytes: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed_bytes


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": as_gzip, ".zst": as_zstd}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", FILES)
def test_a_packed_file_says_what_it_says_unpacked(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / (Path(name).name + suffix)
    path.write_bytes(PACKERS[suffix](captured(name).read_bytes()))
    (loads,), (here,) = loads_of(captured(name)), loads_of(path)
    assert len(here.rows) == len(loads.rows) > 0
    assert source.ResultFile(path, path.name).sha256 == source.ResultFile(captured(name), name).sha256


def test_a_packed_copy_of_a_known_file_is_known(store: Store, tmp_path: Path) -> None:
    importer = ResultImporter(store, lambda: NOW)
    plain, path = captured(FILES[0]), tmp_path / "result.jsonl.gz"
    path.write_bytes(as_gzip(plain.read_bytes()))
    assert importer.recognises(path, path.name)
    first = importer.import_results(path, ImportOptions(path.name), lambda share: None)
    again = importer.import_results(plain, ImportOptions(plain.name), lambda share: None)
    assert again.run_ids == first.run_ids and "was already imported" in again.text


def test_a_folder_may_hold_packed_files(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(captured("lm-eval/oracle-chat"), tmp_path / "out"))
    for path in list(folder.glob("samples_*.jsonl")):
        (folder / f"{path.name}.gz").write_bytes(as_gzip(path.read_bytes()))
        path.unlink()
    (loads,), (here,) = loads_of(captured("lm-eval/oracle-chat")), loads_of(folder)
    assert len(here.rows) == len(loads.rows) > 0


@pytest.mark.parametrize("suffix", PACKERS)
def test_bomb_is_refused_by_ratio_and_bytes(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = captured(FILES[0]).read_bytes()
    path = tmp_path / f"bomb.jsonl{suffix}"
    path.write_bytes(PACKERS[suffix](head + b" " * (8 << 20)))
    monkeypatch.setattr(compression, "RATIO_FREE_BYTES", 1 << 20)
    monkeypatch.setattr(compression, "RATIO", 20)
    with pytest.raises(ImportRefusedError, match=r"^bomb.jsonl.* unpacks to more than 20 times its size"):
        loads_of(path)
    monkeypatch.undo()
    monkeypatch.setattr(source, "MAX_BYTES", 2 << 20)
    with pytest.raises(
        ImportRefusedError, match=r"^bomb.jsonl.* unpacks to more than 2 MiB, the limit for result files"
    ):
        loads_of(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_cut_one_is_refused(suffix: str, tmp_path: Path) -> None:
    data = PACKERS[suffix](captured(FILES[1]).read_bytes())
    path = tmp_path / f"records.jsonl{suffix}"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ImportRefusedError, match="cut"):
        loads_of(path)


def test_a_packed_log_stays_a_log(store: Store, tmp_path: Path) -> None:
    table = b"| a | b |\n|---|---|\n| tok/s | 5.0 tok/s |\n"
    log = next((Path(__file__).parent.parent.parent / "fixtures/logs").rglob("*.log"))
    path = tmp_path / "server.log.gz"
    path.write_bytes(as_gzip(table + log.read_bytes()))
    assert not ResultImporter(store, lambda: NOW).recognises(path, path.name)
