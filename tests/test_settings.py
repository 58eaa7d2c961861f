"""Settings come from the environment, and a wrong one is a sentence."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from settings import SettingsError, load_settings
from web.server import serve


def test_the_environment_is_read(tmp_path: Path) -> None:
    settings = load_settings({"PITWALL_DATA": str(tmp_path), "PITWALL_PORT": "9000", "PITWALL_HOST": "0.0.0.0"})
    assert (settings.data_dir, settings.port, settings.url) == (tmp_path, 9000, "http://127.0.0.1:9000")


def test_loopback_and_the_user_s_data_folder_are_the_default() -> None:
    settings = load_settings({"HOME": "/home/driver"})
    assert settings.host == "127.0.0.1"
    assert settings.data_dir == Path("/home/driver/.local/share/pitwall")


@pytest.mark.parametrize(
    ("name", "value"), [("PITWALL_PORT", "abc"), ("PITWALL_PORT", "70000"), ("PITWALL_PUBLIC_URL", "not a url")]
)
def test_a_wrong_value_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} is '{value}': .+\.$"):
        load_settings({name: value})


def test_a_taken_port_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setenv("PITWALL_PORT", str(taken.getsockname()[1]))
        monkeypatch.setenv("PITWALL_DATA", str(tmp_path))
        with pytest.raises(SystemExit, match=r"Port \d+ is in use.*Choose another with PITWALL_PORT"):
            serve.main()
