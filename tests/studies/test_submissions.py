"""The folder of submissions, in which anybody may leave anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from studies.submissions import STUDY, SubmittedStudy, awaits_results, read_submissions


@pytest.mark.timeout(20)
def test_odd_entry_is_set_aside_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(tmp_path / f"a{STUDY}")
    (tmp_path / f"b{STUDY}").mkdir()
    (tmp_path / f"c{STUDY}").symlink_to("/dev/zero")
    (tmp_path / f"d{STUDY}").write_text("{")
    assert read_submissions(tmp_path, STUDY, SubmittedStudy) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}{STUDY}.refused" for name in "abc"]
    assert len(caplog.records) == 4
    read_submissions(tmp_path, STUDY, SubmittedStudy)
    assert len(caplog.records) == 4


@pytest.mark.timeout(20)
def test_odd_job_awaits_no_results(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.job.json")
    (tmp_path / "b.job.json").symlink_to(tmp_path / "b.job.json")
    assert not awaits_results(tmp_path, ["r"])
