"""A folder whose mount does not answer costs the run that follows a file in it, and no other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers.inotify import InotifyEmitter

from collectors.file_watch import FileWaker
from tests.launcher.servers import wait_for

PATIENCE_S = 60.0


class Sleeper:
    def __init__(self) -> None:
        self.woken = threading.Event()

    def wake(self) -> None:
        self.woken.set()


class Mount:
    """Stands for a network mount: the system's call that begins to watch it does not come back until it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.is_asked, self.answers = folder, threading.Event(), threading.Event()


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mount]:
    mount = Mount(tmp_path / "hung")
    mount.folder.mkdir()
    begin = InotifyEmitter.on_thread_start

    def hang(emitter: Any) -> None:
        if Path(emitter.watch.path) == mount.folder:
            mount.is_asked.set()
            assert mount.answers.wait(PATIENCE_S)
        begin(emitter)

    monkeypatch.setattr(InotifyEmitter, "on_thread_start", hang)
    yield mount
    mount.answers.set()


@pytest.fixture
def waker() -> Iterator[FileWaker]:
    waker = FileWaker()
    yield waker
    waker.stop()


def test_hanging_mount_blocks_no_other_watches(mount: Mount, waker: FileWaker, tmp_path: Path) -> None:
    stuck, other_sleeper = Sleeper(), Sleeper()
    waiting = threading.Thread(target=waker.follow, args=(stuck, [mount.folder / "server.log"]), daemon=True)
    waiting.start()
    assert mount.is_asked.wait(PATIENCE_S)
    (tmp_path / "sound").mkdir()

    def follow_and_leave() -> None:
        waker.follow(other_sleeper, [tmp_path / "sound/server.log"])
        (tmp_path / "sound/server.log").touch()
        assert other_sleeper.woken.wait(PATIENCE_S)
        waker.drop(other_sleeper)

    free = threading.Thread(target=follow_and_leave, daemon=True)
    free.start()
    free.join(PATIENCE_S)
    assert not free.is_alive() and other_sleeper.woken.is_set()
    mount.answers.set()
    waiting.join(PATIENCE_S)
    (mount.folder / "server.log").touch()
    assert stuck.woken.wait(PATIENCE_S), "it is watched once its mount answers"


def test_unwanted_watch_ends_at_its_beginning(mount: Mount, waker: FileWaker) -> None:
    stuck = Sleeper()
    waiting = threading.Thread(target=waker.follow, args=(stuck, [mount.folder / "server.log"]), daemon=True)
    waiting.start()
    assert mount.is_asked.wait(PATIENCE_S)
    waker.stop()
    mount.answers.set()
    waiting.join(PATIENCE_S)
    wait_for(lambda: not any(watched_by(one) == mount.folder for one in threading.enumerate()))


def watched_by(thread: threading.Thread) -> Path | None:
    return Path(thread.watch.path) if isinstance(thread, InotifyEmitter) else None
