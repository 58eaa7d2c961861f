"""Wakes workers when their files are created, moved or deleted; growth is detected by polling."""

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
        """Check the files now; called from another thread, so it must not block."""
        ...


class _FolderWatch:
    """A watched folder; no observer while it starts, or if the system does not report changes."""

    def __init__(self) -> None:
        self.observer: BaseObserver | None = None


class FileWaker(FileSystemEventHandler):
    """Watches the folders of the files that sleepers follow.

    Accessing a folder may hang on a mount that does not answer. Each folder has its own observer because watchdog
    holds a lock while one starts; an observer starts and stops in the thread of its sleeper, without a lock held.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: dict[Sleeper, tuple[Path, ...]] = {}
        self._folders: dict[Sleeper, set[Path]] = {}  # the existing folders of the paths
        self._sleepers: dict[str, Sleeper] = {}
        self._watches: dict[Path, _FolderWatch] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """Stop watching all folders."""
        with self._lock:
            self._is_stopped = True
            self._paths, self._folders = {}, {}
            _, obsolete = self._update_watches()
        self._end(obsolete)

    def follow(self, sleeper: Sleeper, paths: Sequence[Path]) -> None:
        """Wake this sleeper when one of these files is created or deleted; cheap if the paths are unchanged.

        Called by the sleeper's own thread: the check of a folder may hang, and then only this sleeper hangs.
        """
        new_paths = tuple(paths)
        if self._paths.get(sleeper, ()) == new_paths and all(p.parent in self._watches for p in new_paths):
            return
        folders = {path.parent for path in new_paths if path.parent.is_dir()}
        with self._lock:
            if self._is_stopped:
                return
            self._paths[sleeper], self._folders[sleeper] = new_paths, folders
            new_watches, obsolete = self._update_watches()
        self._end(obsolete)
        for folder, watch in new_watches.items():
            self._begin(folder, watch)

    def drop(self, sleeper: Sleeper) -> None:
        """Stop following the sleeper's files; called by its own thread."""
        with self._lock:
            self._folders.pop(sleeper, None)
            if not self._paths.pop(sleeper, None):
                return
            _, obsolete = self._update_watches()
        self._end(obsolete)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Wake the sleeper of a created, deleted or moved file; watchdog calls this from its own thread."""
        for path in {event.src_path, event.dest_path}:
            sleeper = self._sleepers.get(str(path))
            if sleeper is not None:
                sleeper.wake()

    def _update_watches(self) -> tuple[dict[Path, _FolderWatch], list[_FolderWatch]]:
        """Return the watches to start and those to stop; the caller does both without the lock."""
        self._sleepers = {str(path): sleeper for sleeper, paths in self._paths.items() for path in paths}
        needed_folders = {folder for folders in self._folders.values() for folder in folders}
        new_watches = {folder: _FolderWatch() for folder in needed_folders - self._watches.keys()}
        obsolete = [self._watches.pop(folder) for folder in self._watches.keys() - needed_folders]
        self._watches |= new_watches
        return new_watches, obsolete

    def _begin(self, folder: Path, watch: _FolderWatch) -> None:
        observer = Observer()
        try:
            observer.schedule(self, str(folder), event_filter=EVENTS)
            observer.start()
        except OSError as problem:
            LOG.info("polling %s for changes because the system does not report them: %s", folder, problem)
            return
        with self._lock:
            is_wanted = self._watches.get(folder) is watch
            watch.observer = observer if is_wanted else None
        if not is_wanted:
            observer.stop()

    @staticmethod
    def _end(watches: Iterable[_FolderWatch]) -> None:
        for watch in watches:
            if watch.observer is not None:
                watch.observer.stop()
