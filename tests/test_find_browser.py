"""The browser of the tests: the configured one, then the shell without a window, then what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import find_browser


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH; nobody here may install anything."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PITWALL_BROWSER", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    return tmp_path


def program(folder: Path, name: str) -> str:
    path = folder / name
    path.touch(0o755)
    return str(path)


def printed_browser(capsys: pytest.CaptureFixture[str]) -> str:
    assert find_browser.main() == 0
    return capsys.readouterr().out.strip()


def test_browser_order_is_named_shell_whole(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = program(programs, "chromium")
    assert printed_browser(capsys) == whole
    shell = program(programs, "chromium-headless-shell")
    assert printed_browser(capsys) == shell
    assert find_browser.installed() == whole, "what is measured for users is measured in the browser that they have"
    named_program = program(programs, "another")
    monkeypatch.setenv("PITWALL_BROWSER", named_program)
    assert printed_browser(capsys) == named_program


def test_existing_browser_installs_nothing(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = program(programs, "chromium")
    (programs / "apt-get").write_text(f"#!/bin/sh\n: > {programs / 'called'}\n")
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert printed_browser(capsys) == whole
    assert not (programs / "called").exists()
