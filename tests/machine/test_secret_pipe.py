"""A secret that one process passes to another through a pipe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.secret_pipe import NoSecretError, offered_secret, receive_secret


def test_secret_reaches_its_first_reader_alone(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    with offered_secret(path, "sécret"):
        assert receive_secret(path) == "sécret"
        with pytest.raises(NoSecretError, match="No key came"):
            receive_secret(path, limit_s=0.1)
    assert not path.exists()


def test_nothing_else_is_taken_for_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a key")
    os.mkfifo(tmp_path / "open")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name, reason in (("file", "private pipe"), ("open", "private pipe"), ("link", "ended"), ("gone", "ended")):
        with pytest.raises(NoSecretError, match=reason):
            receive_secret(tmp_path / name, limit_s=0.1)


def test_pipe_without_a_reader_ends_with_its_context(tmp_path: Path) -> None:
    with offered_secret(tmp_path / "pipe", "key"):
        pass
    assert list(tmp_path.iterdir()) == []
