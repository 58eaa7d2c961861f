"""Files with results of ended runs: whatever lies in their place counts as absent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.files.report_files import MAX_BYTES, ReportFiles

BASIS = "a" * 64


def test_result_is_read_back_for_its_basis_only(tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    files = ReportFiles(tmp_path)
    files.write("r1", "drawn", BASIS, b"points")
    assert files.read("r1", "drawn", BASIS) == b"points"
    assert files.read("r1", "drawn", "b" * 64) is None and files.read("r2", "drawn", BASIS) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_hangs_nobody(make: object, tmp_path: Path) -> None:
    path = tmp_path / "r1" / "known" / "drawn"
    path.parent.mkdir(parents=True)
    make(path)  # type: ignore[operator]
    assert ReportFiles(tmp_path).read("r1", "drawn", BASIS) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-3],
        lambda content: content + b"more",
        lambda content: content[: len(BASIS) + 1] + (5 << 40).to_bytes(8) + content[len(BASIS) + 9 :],
        lambda content: content[: len(BASIS) + 1] + (5).to_bytes(8) + content[len(BASIS) + 9 :],
        lambda content: content[: len(BASIS) + 4],
        lambda content: content[: len(BASIS) + 1],
    ],
    ids=["cut", "longer", "huge size", "smaller size", "size cut", "empty"],
)
def test_damaged_content_is_absent(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    files = ReportFiles(tmp_path)
    files.write("r1", "drawn", BASIS, b"points" * 100)
    path = tmp_path / "r1" / "known" / "drawn"
    path.write_bytes(damage(path.read_bytes()))
    assert files.read("r1", "drawn", BASIS) is None


def test_result_over_the_limit_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    files = ReportFiles(tmp_path)
    files.write("r1", "drawn", BASIS, bytes(MAX_BYTES + 1))
    assert files.read("r1", "drawn", BASIS) is None
    files.write("r1", "drawn", BASIS, bytes(MAX_BYTES))
    assert files.read("r1", "drawn", BASIS) == bytes(MAX_BYTES)
