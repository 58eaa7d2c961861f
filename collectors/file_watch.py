"""Wakes workers when their files are created, moved or deleted; growth is found by polling."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
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
from watchdog.observers.api import ObservedWatch

LOG = logging.getLogger(__name__)
EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileMovedEvent, FileDeletedEvent]


class Sleeper(Protocol):
    """Whoever can be woken."""

    def wake(self) -> None:
        """Bring its next look at its files forward; called from another thread, so it must not wait."""
        ...


class FileWaker(FileSystemEventHandler):
    """Watches the folders of the files that sleepers follow."""

    def __init__(self) -> None:
        self._observer = Observer()
        self._lock = threading.Lock()
        self._paths: dict[Sleeper, tuple[Path, ...]] = {}
        self._folders: dict[Sleeper, set[Path]] = {}  # those of the paths' folders that are there
        self._sleepers: dict[str, Sleeper] = {}
        self._watches: dict[Path, ObservedWatch | None] = {}  # None: this folder cannot be watched

    def start(self) -> None:
        """Begin to watch the folders of the files that `follow` names, in a thread of watchdog's."""
        self._observer.start()

    def stop(self) -> None:
        """End the watching; waits 2 s at most for its thread."""
        self._observer.stop()
        self._observer.join(2.0)

    def follow(self, sleeper: Sleeper, paths: Sequence[Path]) -> None:
        """Wake this sleeper when one of these files comes or goes; cheap when nothing is new.

        Called by the sleeper's own thread: to look for a folder may hang, and then only this sleeper does.
        """
        wanted = tuple(paths)
        if self._paths.get(sleeper, ()) == wanted and all(p.parent in self._watches for p in wanted):
            return
        folders = {path.parent for path in wanted if path.parent.is_dir()}
        with self._lock:
            self._paths[sleeper], self._folders[sleeper] = wanted, folders
            self._settle()

    def drop(self, sleeper: Sleeper) -> None:
        """Follow its files no longer."""
        with self._lock:
            self._folders.pop(sleeper, None)
            if self._paths.pop(sleeper, None):
                self._settle()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake whoever follows the file that came, went or was moved; watchdog calls it from its own thread."""
        for path in {event.src_path, event.dest_path}:
            sleeper = self._sleepers.get(str(path))
            if sleeper is not None:
                sleeper.wake()

    def _settle(self) -> None:
        self._sleepers = {str(path): sleeper for sleeper, paths in self._paths.items() for path in paths}
        wanted = {folder for folders in self._folders.values() for folder in folders}
        for folder in wanted - self._watches.keys():
            self._watches[folder] = self._watch(folder)
        for folder in self._watches.keys() - wanted:
            watch = self._watches.pop(folder)
            if watch is not None:
                self._observer.unschedule(watch)

    def _watch(self, folder: Path) -> ObservedWatch | None:
        try:
            return self._observer.schedule(self, str(folder), event_filter=EVENTS)
        except OSError as problem:
            LOG.info("changes in %s are found by looking, for the system does not tell them: %s", folder, problem)
            return None
