"""Deliveries to a receiver, and the report on one that fails, hangs or redirects; the receivers are real servers."""

from __future__ import annotations

import json
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from domain import utc_now
from service.notifications import delivery
from service.notifications.channels import (
    ChannelBook,
    ChannelError,
    ChannelKind,
    NotificationChannel,
    QuietHours,
    checked_channel,
    describe,
    parse_kinds,
    parse_quiet_hours,
)
from service.notifications.delivery import DeliveryError, deliver
from service.notifications.notification import Notification, NotificationKind

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECRET = "/services/T000/B000/verysecretpath"
EVENT = Notification(
    id="run:r1:failed", kind=NotificationKind.SERVER_FAILED, at=NOW, title="A server failed",
    text="<a> & @everyone: out of memory", link="http://127.0.0.1:8501/run?run=r1",
)  # fmt: skip


class Receiver:
    """A webhook's server: answers with `status`, redirects, or does not answer at all while it hangs."""

    def __init__(self) -> None:
        self.status, self.location, self.is_hanging = 200, "", False
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if receiver.is_hanging:
                    receiver.released.wait(60)
                    return
                receiver.requests.append((self.path, body))
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("location", receiver.location)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}{SECRET}"


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        receiver.server.shutdown()
        receiver.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


def channel_to(
    url: str, kind: ChannelKind = ChannelKind.JSON, name: str = "hook", **fields: Any
) -> NotificationChannel:
    values = {"events": tuple(NotificationKind), "added_by": "a test", "added_at": NOW} | fields
    return NotificationChannel(name=name, kind=kind, url=url, **values)


def test_each_kind_gets_its_own_form(receiver: Receiver) -> None:
    bodies = {}
    for kind in ChannelKind:
        if kind is not ChannelKind.COMMAND:
            deliver(channel_to(receiver.url, kind), EVENT)
            path, bodies[kind] = receiver.requests[-1]
            assert path == (SECRET.rpartition("/")[0] + "/" if kind is ChannelKind.NTFY else SECRET)
    assert bodies[ChannelKind.JSON]["kind"] == "server_failed" and bodies[ChannelKind.JSON]["link"] == EVENT.link
    assert "&lt;a&gt; &amp; @everyone" in bodies[ChannelKind.SLACK]["text"]
    assert bodies[ChannelKind.DISCORD]["allowed_mentions"] == {"parse": []}
    assert bodies[ChannelKind.NTFY] | {"message": "..."} == {
        "topic": "verysecretpath", "title": "A server failed", "message": "...", "click": EVENT.link,
    }  # fmt: skip


def test_command_gets_json_on_its_standard_input(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    program = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    command = channel_to("", ChannelKind.COMMAND, argv=(sys.executable, "-c", program))
    deliver(command, EVENT)
    assert json.loads(out.read_text())["text"] == EVENT.text
    failing = command.model_copy(update={"argv": (sys.executable, "-c", "import sys; sys.exit('no such room')")})
    with pytest.raises(DeliveryError, match="exited with code 1: no such room"):
        deliver(failing, EVENT)
    with pytest.raises(DeliveryError, match="No such file"):
        deliver(command.model_copy(update={"argv": ("/nowhere/at/all",)}), EVENT)


def test_failures_are_said_without_the_address(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_to(receiver.url)
    assert SECRET not in repr(channel) + describe(channel)
    receiver.status = 500
    with pytest.raises(DeliveryError, match="status 500") as failed:
        deliver(channel, EVENT)
    with running_receiver() as elsewhere:
        receiver.status, receiver.location = 307, elsewhere.url
        with pytest.raises(DeliveryError, match="redirects to another address"):
            deliver(channel, EVENT)
        assert elsewhere.requests == []
    receiver.is_hanging = True
    monkeypatch.setattr(delivery, "SILENCE_S", 0.3)
    began_s = time.monotonic()
    with pytest.raises(DeliveryError, match="no answer in time") as hung:
        deliver(channel, EVENT)
    assert time.monotonic() - began_s < 5
    with pytest.raises(DeliveryError) as refused:
        deliver(channel_to("http://127.0.0.1:9" + SECRET), EVENT)
    assert not any("secret" in str(error.value) for error in (failed, hung, refused))


WRONG_ADDRESSES = (
    "", "ftp://a.example/x", "http://hooks.example/x", "http://169.254.169.254/latest", "http://10.0.0.1/x",
    "https://user:pass@hooks.example/x", "https://hooks.example/a b", "https://", "https://hooks.example:0/x",
    "http://localhost/x", "file:///etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("url", WRONG_ADDRESSES)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ChannelError) as refusal:
        checked_channel(channel_to(url))
    assert len(url) < len("https://x") or url not in str(refusal.value)


def test_channels_are_private_and_checked(tmp_path: Path) -> None:
    book = ChannelBook(tmp_path / "notify.json")
    book.add(channel_to("https://hooks.example" + SECRET), "somebody, in a shell")
    assert stat.S_IMODE((tmp_path / "notify.json").stat().st_mode) == 0o600
    assert book.find("hook").url.endswith(SECRET)
    document = json.loads((tmp_path / "notify.json").read_text())
    assert "secret" not in json.dumps(document["untold"])
    for wrong in (
        channel_to("", ChannelKind.COMMAND, argv=("relative",)),
        channel_to("https://a.example", ChannelKind.COMMAND, argv=("/bin/true",)),
        channel_to("https://ntfy.sh", ChannelKind.NTFY),
    ):
        with pytest.raises(ChannelError):
            book.add(wrong)
    with pytest.raises(ChannelError, match="no channel named other"):
        book.remove("other")
    assert book.remove("hook").name == "hook" and book.all() == []


def test_quiet_hours_pass_midnight() -> None:
    night = parse_quiet_hours("22:00-07:00")
    assert night and [night.include(parse) for parse in map(_time, ("21:59", "22:00", "06:59", "07:00"))] == [
        False, True, True, False,
    ]  # fmt: skip
    assert night.describe() == "22:00-07:00" and parse_quiet_hours(" ") is None
    day = QuietHours(begin=_time("09:00"), end=_time("17:00"))
    assert day.include(_time("12:00")) and not day.include(_time("17:00"))
    for wrong in ("22", "22:00", "22:00-22:00", "a-b", "22:00-07:00-08:00"):
        with pytest.raises(ChannelError):
            parse_quiet_hours(wrong)
    with pytest.raises(ChannelError, match="study_decided"):
        parse_kinds(["everything"])
    assert utc_now().tzinfo is not None


def _time(text: str) -> Any:
    return datetime.fromisoformat(f"2026-01-01T{text}").time()
