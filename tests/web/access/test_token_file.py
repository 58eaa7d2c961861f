"""The file of tokens: what is kept of them, who may read it, and several processes that change it."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import Future
from datetime import timedelta
from threading import Thread
from types import FrameType
from typing import Any

import pytest

from domain import AuditEntry
from machine.shared_file import file_lock
from redaction import mask_text
from settings import Settings
from tests.web.access.test_tokens import DAY, ROOT, make_token
from tests.web.access.test_tokens import book as book
from tests.web.access.test_tokens import clock as clock
from tests.web.access.test_tokens import settings as settings
from web.access import tokens as tokens_module
from web.access.tokens import Scope, TokenBook, TokenError


def test_hashes_are_compared_in_constant_time(book: TokenBook, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    compare = hmac.compare_digest

    def noted(a: str, b: str) -> bool:
        compared.append((a, b))
        return compare(a, b)

    texts = [make_token(book, Scope.SQL) for _ in range(3)]
    monkeypatch.setattr(tokens_module.hmac, "compare_digest", noted)
    assert book.find(texts[0]) and len(compared) == 3, "the first that fits ends no search"
    assert book.find("none") is None and len(compared) == 6
    assert not any(text in pair for pair in compared for text in texts)


def test_token_file_is_private_and_holds_no_key(book: TokenBook, settings: Settings) -> None:
    text = make_token(book, Scope.SQL)
    kept_text = settings.tokens_path.read_text()
    assert text not in kept_text and text not in repr(book.all())
    assert stat.S_IMODE(settings.tokens_path.stat().st_mode) == 0o600
    assert book.find(book.all()[0].digest) is None
    assert {settings.tokens_path.name, "tokens.lock"} <= set(settings.data_file_names)
    assert mask_text(f"curl -H {text} x") == "curl -H <secret> x"


@pytest.mark.parametrize(
    ("scopes", "run", "lasts"),
    [
        ((), None, DAY),
        ((Scope.AGENT,), None, DAY),
        ((Scope.SQL,), "r1", DAY),
        ((Scope.AGENT, Scope.SQL), "r1", DAY),
        ((Scope.SQL,), None, timedelta(0)),
        ((Scope.SQL,), None, timedelta(days=400)),
    ],
)
def test_what_makes_no_sense_is_not_made(
    book: TokenBook, scopes: tuple[Scope, ...], run: str | None, lasts: timedelta
) -> None:
    with pytest.raises(TokenError):
        book.make(scopes, run, lasts, "", "a test")
    assert book.all() == []


@pytest.mark.parametrize("note", ["\udcff", "a\x1b[2J", "a\nb", "x" * 201])
def test_a_note_is_a_line_of_text(book: TokenBook, note: str) -> None:
    with pytest.raises(TokenError, match="A note has"):
        book.make([Scope.SQL], None, DAY, note, "a test")
    assert book.all() == []


def test_reader_does_not_wait_for_a_writer(book: TokenBook, settings: Settings) -> None:
    """The event loop asks at each request: a shell that stands still with the file must not stop it."""
    text = make_token(book, Scope.SQL)
    token = book.all()[0]
    with file_lock(settings.tokens_path):
        changing = Thread(target=book.revoke, args=(token.id, "a test"))
        changing.start()
        asking = Thread(target=book.find, args=(text,), daemon=True)
        wait_for_lock_of(changing)
        asking.start()
        asking.join(30)
        stuck = asking.is_alive()
    changing.join()
    assert not stuck and book.why_expired(token)


def wait_for_lock_of(changing: Thread) -> None:
    """Until the thread stands at the lock of the file, as its stack tells."""
    while changing.ident and "file_lock" not in _names(sys._current_frames().get(changing.ident)):
        assert changing.is_alive()


def _names(frame: FrameType | None) -> list[str]:
    names = []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


def test_foreign_file_opens_nothing_and_stays(book: TokenBook, settings: Settings) -> None:
    text = make_token(book, Scope.SQL)
    settings.tokens_path.write_text("{")
    assert book.find(text) is None
    with pytest.raises(TokenError, match="Deleting it revokes"):
        make_token(book, Scope.SQL)
    assert settings.tokens_path.read_text() == "{"
    settings.tokens_path.unlink()
    os.mkfifo(settings.tokens_path)
    assert book.find(text) is None, "a pipe is not waited for"
    with pytest.raises(TokenError, match="Deleting it revokes"):
        make_token(book, Scope.SQL)


def test_shell_manages_tokens_of_running_pitwall(book: TokenBook, settings: Settings) -> None:
    """The book of this process stands for the running Pitwall: it learns of each change, and so does its audit."""
    audit_entries: list[AuditEntry] = []

    def record(entries: Any) -> Future[None]:
        audit_entries.extend(entries)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    assert book.all() == []
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}

    def shell(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([ROOT / "pitwall", "token", *words], env=environ, capture_output=True, text=True)

    text = shell("make", "sql:read", "--note", "grafana").stdout.strip()
    clock_now = TokenBook(settings.tokens_path)
    assert clock_now.find(text) and book.find(text)
    listed = json.loads(shell("list", "--json").stdout)["tokens"]
    assert text not in json.dumps(listed) and [one["note"] for one in listed] == ["grafana"]
    assert shell("revoke", listed[0]["id"]).returncode == 0
    assert book.why_expired(book.all()[0]) == "This token has been revoked."
    assert shell("revoke", "nope").returncode == 1
    assert shell("make", "agent:write", "--run", "nope").returncode == 1
    asyncio.run(asyncio.to_thread(book.record_audit, record))
    book.record_audit(record)
    assert [(entry.action, "in a shell" in entry.role) for entry in audit_entries] == [
        ("make token", True),
        ("revoke token", True),
    ]
    assert text not in repr(audit_entries) and text not in settings.tokens_path.read_text()


@pytest.mark.parametrize("days", ["nan", "inf", "1e300", "-1", "0", "367"])
def test_a_shell_is_told_of_a_time_that_is_none(settings: Settings, days: str) -> None:
    argv = [str(ROOT / "pitwall"), "token", "make", "sql:read", f"--days={days}"]
    process = subprocess.run(
        argv, env=os.environ | {"PITWALL_DATA": str(settings.data_dir)}, capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (1, "A token must be valid for more than 0 and at most 366 days.\n")
