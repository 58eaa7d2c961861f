"""`./pitwall notify` from a shell: channels are added, listed, tested and removed, and no address is printed."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest

from cli.machines.notify import EVENTS, KINDS
from cli.main import main
from service.notifications.channels import ChannelBook, ChannelKind
from service.notifications.notification import NotificationKind
from tests.service.notifications.test_delivery import running_receiver


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def url_file(tmp_path: Path, url: str, mode: int = 0o600) -> str:
    path = tmp_path / "hook.url"
    path.write_text(f"{url}\n")
    path.chmod(mode)
    return str(path)


def test_channel_is_added_tested_listed_and_removed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_receiver() as receiver:
        file = url_file(tmp_path, receiver.url)
        argv = ["notify", "add", "team", "slack", "--url-file", file, "--on", "load_failed", "--quiet", "22:00-07:00"]
        assert main(argv) == 0
        assert main(["notify", "test", "team"]) == 0
        assert "This is a test" in receiver.requests[0][1]["text"]
        receiver.status = 500
        assert main(["notify", "test", "team"]) == 1
    assert main(["notify", "list", "--json"]) == 0
    output = capsys.readouterr()
    assert "verysecret" not in output.out + output.err and "status 500" in output.err
    (channel,) = json.loads(output.out.splitlines()[-1])["channels"]
    assert (channel["events"], channel["quiet_hours"], channel["kind"]) == (["load_failed"], "22:00-07:00", "slack")
    assert ChannelBook(data / "notify.json").find("team").added_at.tzinfo == UTC
    assert main(["notify", "remove", "team"]) == 0 and main(["notify", "remove", "team"]) == 1
    assert "There is no channel named team." in capsys.readouterr().err


def test_command_takes_the_rest_of_the_line(data: Path) -> None:
    assert (
        main(["notify", "add", "pager", "command", "--on", "store_trouble", "--command", "/bin/echo", "-n", "x"]) == 0
    )
    assert ChannelBook(data / "notify.json").find("pager").argv == ("/bin/echo", "-n", "x")


def test_address_that_others_may_read_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["notify", "add", "team", "json", "--url-file", url_file(tmp_path, "https://a.example/x", 0o644)]) == 1
    assert "chmod 600" in capsys.readouterr().err
    assert main(["notify", "add", "team", "json"]) == 1
    assert "There is no valid address: use --url-file" in capsys.readouterr().err
    monkeypatch.setenv("PITWALL_NOTIFY_URL", "http://hooks.example/services/verysecretpath")
    assert main(["notify", "add", "team", "json"]) == 1
    error = capsys.readouterr().err
    assert "use https" in error and "verysecret" not in error
    assert not (data / "notify.json").exists()


def test_names_are_those_of_the_service() -> None:
    assert (tuple(NotificationKind), tuple(ChannelKind)) == (EVENTS, KINDS)
