"""The notifications that wait for a channel: one file each, written atomically, in the order in which they came.

While the disk takes no files, which is itself worth a notification, they wait in memory.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular
from service.notifications.notification import Notification

MOST_WAITING = 1_000  # per channel; beyond it the oldest are dropped
MOST_BYTES = 64 << 10  # of one file
SUFFIX = ".json"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_log = logging.getLogger(__name__)


class Backlog:
    """A folder with a folder per channel; used by one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._in_memory: dict[str, dict[str, Notification]] = {}  # channel -> file name -> not written yet
        self._dropped: dict[str, int] = {}  # since the start

    def add(self, channel_name: str, notification: Notification) -> None:
        """Store a notification durably for a channel; adding the same one again changes nothing."""
        stamp = f"{notification.at.timestamp() * 1000:015.0f}"
        name = f"{stamp}-{_UNSAFE.sub('-', notification.id)[:100]}{SUFFIX}"
        try:
            write_private(self._folder / channel_name / name, notification.model_dump_json().encode())
        except OSError as error:
            _log.warning("A notification waits in memory: %s", error.strerror)
            self._in_memory.setdefault(channel_name, {})[name] = notification
        for extra_name in self._names(channel_name)[:-MOST_WAITING]:
            self.remove(channel_name, extra_name)
            self._dropped[channel_name] = self._dropped.get(channel_name, 0) + 1

    def waiting(self, channel_name: str) -> Iterator[tuple[str, Notification]]:
        """Yield what waits for a channel with its name, oldest first; an invalid file is removed and logged."""
        for name in self._names(channel_name):
            try:
                yield name, self._read(channel_name, name)
            except (OSError, ValueError, NotRegularError):
                _log.warning("A waiting notification is unreadable and was removed: %s", name)
                self.remove(channel_name, name)

    def remove(self, channel_name: str, name: str) -> None:
        """Remove a notification that was sent. Raises OSError."""
        self._in_memory.get(channel_name, {}).pop(name, None)
        (self._folder / channel_name / name).unlink(missing_ok=True)

    def count(self, channel_name: str) -> int:
        """Return how many notifications wait for a channel."""
        return len(self._names(channel_name))

    def dropped(self, channel_name: str) -> int:
        """Return how many were dropped because too many waited, since the start."""
        return self._dropped.get(channel_name, 0)

    def keep_only(self, channel_names: Collection[str]) -> None:
        """Remove what waits for channels that no longer exist. Raises OSError."""
        with suppress(FileNotFoundError):
            for path in list(self._folder.iterdir()):
                if path.is_dir() and path.name not in channel_names:
                    shutil.rmtree(path)

    def _read(self, channel_name: str, name: str) -> Notification:
        if notification := self._in_memory.get(channel_name, {}).get(name):
            return notification
        with open_regular(self._folder / channel_name / name) as file:
            return Notification.model_validate_json(file.read(MOST_BYTES))

    def _names(self, channel_name: str) -> list[str]:
        names = set(self._in_memory.get(channel_name, ()))
        with suppress(OSError):
            folder = self._folder / channel_name
            names |= {path.name for path in folder.iterdir() if path.suffix == SUFFIX and path.name[0] != "."}
        return sorted(names)
