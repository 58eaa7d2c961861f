"""Settings come from the environment, and a wrong one is a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings import Settings, SettingsError, load_settings


def test_the_environment_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DATA": str(tmp_path), "PORT": "9000", "HOST": "0.0.0.0", "PUBLIC_URL": ""}.items():
        monkeypatch.setenv(f"PITWALL_{name}", value)
    settings = load_settings()
    assert (settings.data_dir, settings.port, settings.url) == (tmp_path, 9000, "http://127.0.0.1:9000")


def test_loopback_and_user_folder_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "PITWALL_DATA", "PITWALL_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/driver")
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.data_dir == Path("/home/driver/.local/share/pitwall")


@pytest.mark.parametrize(
    ("name", "value"), [("PITWALL_PORT", "abc"), ("PITWALL_PORT", "70000"), ("PITWALL_PUBLIC_URL", "not a url")]
)
def test_a_wrong_value_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=rf"^{name} is '{value}': .+\.$"):
        load_settings()


@pytest.mark.parametrize(
    ("public_url", "base_path"),
    [(None, ""), ("https://gpu.example", ""), ("https://gpu.example/pitwall/", "/pitwall"), ("http://a/b/c", "/b/c")],
)
def test_public_address_path_is_served(public_url: str | None, base_path: str) -> None:
    assert Settings.model_validate({"public_url": public_url}).base_path == base_path


@pytest.mark.parametrize("text", ["/pit?x=1", "/pit#f", "//evil.example/", "/a b", "/%2f%2fevil.example", "/a//b"])
def test_complex_public_address_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITWALL_PUBLIC_URL", f"https://gpu.example{text}")
    with pytest.raises(SettingsError, match=r"^PITWALL_PUBLIC_URL is .*: it must end with a plain path"):
        load_settings()
