"""Copies of a task's folder: their limits, their links, and their digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.folder_removal import remove_tree
from workloads.agent_tasks.folder_copy import MIB, CopyLimits, FolderCopyError, copy_folder
from workloads.agent_tasks.task_files import delete_repeats, repeat_folder, repeat_folders

LIMITS = CopyLimits(MIB, 100)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.py").write_text("print(1)")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def test_links_out_of_the_folder_are_left_out(tmp_path: Path, source: Path) -> None:
    (tmp_path / "secret.txt").write_text("planted")
    (source / "inside").symlink_to("src/main.py")
    for name, target in (("outside", "../secret.txt"), ("absolute", str(source / "run.sh")), ("folder", "..")):
        (source / name).symlink_to(target)
    os.mkfifo(source / "pipe")
    copy = copy_folder(source, tmp_path / "copy", LIMITS)
    assert sorted(copy.left_out) == ["absolute", "folder", "outside", "pipe"]
    assert (tmp_path / "copy/inside").readlink() == Path("src/main.py")
    assert (tmp_path / "copy/run.sh").stat().st_mode & 0o100 and copy.files == 2
    assert not any("planted" in path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file())


def test_copies_have_limits(tmp_path: Path, source: Path) -> None:
    with pytest.raises(FolderCopyError, match="more than 2 files and folders"):
        copy_folder(source, tmp_path / "few", CopyLimits(MIB, 2))
    (source / "large").write_bytes(b"x" * (MIB + 1))
    with pytest.raises(FolderCopyError, match="more than 1 MiB"):
        copy_folder(source, tmp_path / "small", LIMITS)
    with pytest.raises(FolderCopyError, match="contains Pitwall's own copies"):
        copy_folder(tmp_path, tmp_path / "inner", LIMITS)
    with pytest.raises(FolderCopyError, match="is not a folder"):
        copy_folder(tmp_path / "absent", tmp_path / "other", LIMITS)


def test_digest_is_of_names_contents_and_modes(tmp_path: Path, source: Path) -> None:
    first = copy_folder(source, tmp_path / "a", LIMITS).digest
    assert copy_folder(tmp_path / "a", tmp_path / "b", LIMITS).digest == first
    (source / "src/main.py").write_text("print(2)")
    second = copy_folder(source, tmp_path / "c", LIMITS).digest
    (source / "run.sh").chmod(0o644)
    assert len({first, second, copy_folder(source, tmp_path / "d", LIMITS).digest}) == 3


def test_read_only_folders_are_removed(tmp_path: Path, source: Path) -> None:
    repeat = repeat_folder(tmp_path / "workload-2", 3)
    copy_folder(source, repeat / "folder", LIMITS)
    (repeat / "folder/link").symlink_to(source)
    (repeat / "folder/src").chmod(0o500)
    assert repeat_folders(tmp_path) == [repeat]
    assert delete_repeats([repeat]) > 0 and not repeat.exists()
    assert (source / "src/main.py").exists(), "what a link leads to stays"


def test_a_tree_is_removed_with_its_locked_folders(tmp_path: Path) -> None:
    locked = tmp_path / "run/locked"
    locked.mkdir(parents=True)
    (locked / "file").touch()
    locked.chmod(0o000)
    remove_tree(tmp_path / "run")
    assert not (tmp_path / "run").exists()
