"""The history of the SQL page outlives Pitwall: within bounds, without secrets, and no page waits for its file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from machine.detached_calls import DetachedCalls
from machine.private_files import write_private
from tests.e2e.pitwall_process import wait_until
from tests.many_runs import BEGAN
from web.sql.history import MOST_BROWSERS, MOST_BYTES, MOST_KEPT, HistoryEntry, QueryHistory

KEY = "hf_abcdefghijklmnopqrstuv"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "asked.json"


def entry_of(sql: str, outcome: str = "1 row in 2 ms", text: str = "mine") -> HistoryEntry:
    return HistoryEntry(sql, BEGAN, outcome, text)


def after_restart(path: Path, *questions: HistoryEntry) -> list[HistoryEntry]:
    """What another process knows of this browser once all of these were asked, and a last one as a sign."""
    book = QueryHistory(path)
    for question in (*questions, entry_of("SELECT 'the last'")):
        book.add("ann", question)
    wait_until(lambda: b"the last" in (path.read_bytes() if path.exists() else b""), 30)
    first, *others = QueryHistory(path).entries("ann")
    assert first.sql == "SELECT 'the last'"
    return others


def test_browser_sees_only_its_own_queries_once() -> None:
    book = QueryHistory()
    for number in (*range(MOST_KEPT + 5), MOST_KEPT):
        book.add("mine", entry_of(f"SELECT {number}"))
    assert len(book.entries("mine")) == MOST_KEPT and book.entries("mine")[0].sql == f"SELECT {MOST_KEPT}"
    assert book.entries("another") == []
    for number in range(MOST_BROWSERS):
        book.add(str(number), entry_of("SELECT 1"))
    assert book.entries("mine") == [], "the longest silent one is forgotten"


def test_history_survives_restart_for_its_owner(path: Path) -> None:
    questions = [
        entry_of("SELECT 1"),
        entry_of("SELECT '\u00e9\n'", text="all"),
        entry_of("DROP VIEW runs", "Only a SELECT"),
    ]
    assert after_restart(path, *questions) == questions[::-1]
    assert QueryHistory(path).entries("ben") == []
    assert path.stat().st_mode & 0o077 == 0


def test_no_secret_is_written(path: Path) -> None:
    secret = entry_of(f"SELECT 'api_key={KEY}'")
    history_entry = entry_of("SELECT env FROM runs", f"Could not convert {KEY}")
    assert after_restart(path, secret, history_entry) == [history_entry._replace(outcome="Could not convert <secret>")]
    assert KEY not in path.read_text()


def test_history_file_is_bounded_to_the_newest(path: Path) -> None:
    large = [entry_of(f"SELECT '{number}{'x' * (MOST_BYTES // 4)}'") for number in range(6)]
    assert after_restart(path, *large) == large[:2:-1]
    assert path.stat().st_size < 2 * MOST_BYTES
    odd = [entry_of("x" * MOST_BYTES), entry_of("SELECT '\ud800'"), entry_of("SELECT 2")]
    others = after_restart(path.with_name("another.json"), *odd)
    assert others == odd[2:], "what has no room, or is no text, costs the others nothing"


def test_sign_out_removes_history(path: Path) -> None:
    after_restart(path)
    QueryHistory(path, lambda browser: browser == "ben").add("ben", entry_of("SELECT 3"))
    wait_until(lambda: "SELECT 3" in path.read_text(), 30)
    assert QueryHistory(path).entries("ann") == [] and QueryHistory(path).entries("ben")


def test_no_page_waits_for_a_disk_that_hangs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def stuck(*given: object) -> None:
        hangs.set()
        assert goes_on.wait(60)
        write_private(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("web.sql.history.write_private", stuck)
    book = QueryHistory(path)
    book.add("ann", entry_of("SELECT 1"))
    assert hangs.wait(30)
    writers = [one for one in threading.enumerate() if one.name == "asked-file"]
    for number in range(20):
        book.add("ann", entry_of(f"SELECT 2{number}"))
    assert len(book.entries("ann")) == 21 and not path.exists()
    assert [one for one in threading.enumerate() if one.name == "asked-file"] == writers, "one thread waits, no more"
    goes_on.set()
    wait_until(lambda: len(QueryHistory(path).entries("ann")) == 21, 30)


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b'{"ann": [["SELECT 1"]]}', b"\xff"], ids=["empty", "list", "part", "binary"]
)
def test_foreign_history_file_costs_nothing(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert QueryHistory(path).entries("ann") == [] and after_restart(path, entry_of("SELECT 1")) == [
        entry_of("SELECT 1")
    ]


def test_a_pipe_in_its_place_holds_up_no_start(path: Path) -> None:
    os.mkfifo(path)
    assert DetachedCalls("asked", 1).call_within(lambda: QueryHistory(path), 30.0).entries("ann") == []


def test_self_link_as_file_delays_no_start(path: Path) -> None:
    path.symlink_to(path)
    assert QueryHistory(path).entries("ann") == []


def test_a_folder_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real")
    assert after_restart(tmp_path / "named" / "asked.json", entry_of("SELECT 1")) == [entry_of("SELECT 1")]


def test_unwritable_file_keeps_history_in_memory(tmp_path: Path) -> None:
    (tmp_path / "no folder").write_text("")
    book = QueryHistory(tmp_path / "no folder" / "asked.json")
    for sql in ("SELECT 1", "SELECT 2"):
        book.add("ann", entry_of(sql))
    assert [entry.sql for entry in book.entries("ann")] == ["SELECT 2", "SELECT 1"]
