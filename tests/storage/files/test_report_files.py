"""Files with results of ended runs: whatever lies in their place counts as absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storage.files.report_files import ReportFiles

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
