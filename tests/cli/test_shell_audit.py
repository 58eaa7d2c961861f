"""Changes from a shell to the lists of Pitwalls and hosts stand in the store's audit once, with their author."""

from __future__ import annotations

import asyncio
import getpass
import os
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from domain import AuditEntry
from launcher.processes.process import ROOT
from launcher.remote.hosts import Host, HostBook
from settings import Settings
from storage.database import StoreError
from storage.store import Store
from web.live.peers.peers import PeerBook
from web.server import shell_audit
from web.server.shell_audit import keep_recording

ME = f"{getpass.getuser()}, in a shell"
TOKEN = "a-token-of-the-other-pitwall"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    yield opened
    opened.close()


def peer(data: Path, *words: str) -> None:
    environ = os.environ | {"PITWALL_DATA": str(data), "PITWALL_PEER_TOKEN": TOKEN}
    subprocess.run([ROOT / "pitwall", "peer", *words], env=environ, check=True, capture_output=True)


def audited(store: Store) -> list[tuple[str, str, str]]:
    store.record([]).result()
    return sorted((entry.action, entry.detail, entry.role) for entry in store.audit(10))


def test_peers_of_a_shell_are_in_the_audit_once(store: Store, tmp_path: Path) -> None:
    data = tmp_path / "data"
    peer(data, "add", "box-2", "https://box-2.example.org")
    peer(data, "remove", "box-2")
    book = PeerBook(data / "peers.json")
    for _ in range(2):
        book.record_audit(store.record)
        assert audited(store) == [
            ("confirm peer", "box-2 at https://box-2.example.org", ME),
            ("remove peer", "box-2 at https://box-2.example.org", ME),
        ]
    assert "untold" not in (data / "peers.json").read_text()
    assert TOKEN not in str(audited(store))


def test_hosts_of_a_shell_are_in_the_audit(store: Store, tmp_path: Path) -> None:
    book = HostBook(tmp_path / "hosts.json")
    book.add(Host(label="gpu-box", target="me@gpu-box"), ME)
    book.remove("gpu-box", ME)
    book.record_audit(store.record)
    assert audited(store) == [("add host", "gpu-box: me@gpu-box", ME), ("remove host", "gpu-box: me@gpu-box", ME)]


def test_unwritable_store_gets_the_entry_later(store: Store, tmp_path: Path) -> None:
    book = HostBook(tmp_path / "hosts.json")
    book.add(Host(label="gpu-box", target="me@gpu-box"), ME)
    texts: list[str] = []

    def refuse(entries: Iterable[AuditEntry]) -> Future[None]:
        raise StoreError("The disk is full.")

    def next_one(record: object) -> None:
        texts.append("next")

    async def once() -> None:
        task = asyncio.create_task(keep_recording([book.record_audit, next_one], refuse))
        while not texts:
            await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(once())
    assert [host.label for host in book.all()] == ["gpu-box"]
    book.record_audit(store.record)
    assert [action for action, _, _ in audited(store)] == ["add host"]


def test_unreadable_list_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shell_audit, "LOOK_EVERY_S", 0.001)
    path = tmp_path / "hosts.json"
    path.write_text("{")
    path.chmod(0o600)
    looks: list[int] = []

    async def look() -> None:
        book = HostBook(path)
        task = asyncio.create_task(keep_recording([book.record_audit, looks.append], len))  # type: ignore[list-item, arg-type]
        while len(looks) < 5:
            await asyncio.sleep(0.001)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(look())
    assert [record.levelname for record in caplog.records] == ["WARNING"]
