"""Files of secrets that cannot be read: refused at once, in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import BaseModel

from errors import PitwallError
from machine.secret_file import read_secrets


class Content(BaseModel):
    a: int


@pytest.mark.timeout(20)
def test_pipe_and_loop_of_links_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    for name in ("pipe.toml", "loop.toml"):
        with pytest.raises(PitwallError, match=r"cannot be read\.$"):
            read_secrets(tmp_path / name, Content, PitwallError)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000, f"0x{'f' * 5000}"])
def test_value_that_no_reader_expects_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"a = {value}")
    path.chmod(0o600)
    with pytest.raises(PitwallError, match="is not valid TOML"):
        read_secrets(path, Content, PitwallError)
