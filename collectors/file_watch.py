"""Wakes workers when their files are created, moved or deleted; growth is found by polling."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from watchdog.events import (
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

LOG = logging.getLogger(__name__)
EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileMovedEvent, FileDeletedEvent]


class Sleeper(Protocol):
    """A thread that can be woken."""

    def wake(self) -> None:
        """Bring its next look at its files forward; called from another thread, so it must not wait."""
        ...


class _Watch:
    """A folder that is wanted; without an observer while that begins, or where the system does not report changes."""

    def __init__(self) -> None:
        self.observer: BaseObserver | None = None


class FileWaker(FileSystemEventHandler):
    """Watches the folders of the files that sleepers follow.

    To look at a folder may hang, on a mount that does not answer. So each has its own observer, for watchdog holds
    a lock while one begins; it begins and ends in the thread of the sleeper that wants it, while no lock is held.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: dict[Sleeper, tuple[Path, ...]] = {}
        self._folders: dict[Sleeper, set[Path]] = {}  # those of the paths' folders that are there
        self._sleepers: dict[str, Sleeper] = {}
        self._watches: dict[Path, _Watch] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """End the watching."""
        with self._lock:
            self._is_stopped = True
            self._paths, self._folders = {}, {}
            _, unwanted = self._settle()
        self._end(unwanted)

    def follow(self, sleeper: Sleeper, paths: Sequence[Path]) -> None:
        """Wake this sleeper when one of these files comes or goes; cheap when nothing is new.

        Called by the sleeper's own thread: to look for a folder may hang, and then only this sleeper does.
        """
        wanted = tuple(paths)
        if self._paths.get(sleeper, ()) == wanted and all(p.parent in self._watches for p in wanted):
            return
        folders = {path.parent for path in wanted if path.parent.is_dir()}
        with self._lock:
            if self._is_stopped:
                return
            self._paths[sleeper], self._folders[sleeper] = wanted, folders
            new, unwanted = self._settle()
        self._end(unwanted)
        for folder, watch in new.items():
            self._begin(folder, watch)

    def drop(self, sleeper: Sleeper) -> None:
        """Follow its files no longer; called by its own thread."""
        with self._lock:
            self._folders.pop(sleeper, None)
            if not self._paths.pop(sleeper, None):
                return
            _, unwanted = self._settle()
        self._end(unwanted)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake whoever follows the file that came, went or was moved; watchdog calls it from its own thread."""
        for path in {event.src_path, event.dest_path}:
            sleeper = self._sleepers.get(str(path))
            if sleeper is not None:
                sleeper.wake()

    def _settle(self) -> tuple[dict[Path, _Watch], list[_Watch]]:
        """The watches that are to begin and those that are to end; both without the lock."""
        self._sleepers = {str(path): sleeper for sleeper, paths in self._paths.items() for path in paths}
        wanted = {folder for folders in self._folders.values() for folder in folders}
        new = {folder: _Watch() for folder in wanted - self._watches.keys()}
        unwanted = [self._watches.pop(folder) for folder in self._watches.keys() - wanted]
        self._watches |= new
        return new, unwanted

    def _begin(self, folder: Path, watch: _Watch) -> None:
        observer = Observer()
        try:
            observer.schedule(self, str(folder), event_filter=EVENTS)
            observer.start()
        except OSError as problem:
            LOG.info("changes in %s are found by looking, for the system does not tell them: %s", folder, problem)
            return
        with self._lock:
            is_wanted = self._watches.get(folder) is watch
            watch.observer = observer if is_wanted else None
        if not is_wanted:
            observer.stop()

    @staticmethod
    def _end(watches: Iterable[_Watch]) -> None:
        for watch in watches:
            if watch.observer is not None:
                watch.observer.stop()
