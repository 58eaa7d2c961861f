"""The history of the SQL page for each signed-in browser, stored in a file so that it survives a restart.

It is not in the store, which everyone who signs in can read by SQL.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular, pin_path
from redaction import mask_text, secret_spans

MOST_KEPT, MOST_BROWSERS = 40, 100
MOST_BYTES = 64 * 1024  # per browser in the file
MOST_READ = MOST_BROWSERS * (MOST_BYTES + 1024)  # Pitwall writes no longer file
_log = logging.getLogger(__name__)


class HistoryEntry(NamedTuple):
    """One executed statement and its outcome in a few words."""

    sql: str
    at: datetime
    outcome: str  # '12 rows in 8 ms', or why there were none
    scope: str = "mine"  # or 'all' for all machines


_FILE, _ENTRY = TypeAdapter(dict[str, list[HistoryEntry]]), TypeAdapter(HistoryEntry)


class QueryHistory:
    """The statements of each browser, the newest first; usable from any thread, and no page waits for the file."""

    def __init__(self, path: Path | None = None, is_open: Callable[[str], bool] = lambda browser: True) -> None:
        """`path`: None keeps the history only in memory. `is_open`: whether this browser is still signed in."""
        self._path = path
        self._is_open = is_open
        self._lock = threading.Lock()
        self._by_browser = OrderedDict(_read(path) if path else {})
        self._is_writing = self._has_unsaved = False

    def add(self, browser: str, entry: HistoryEntry) -> None:
        """Add an entry, replacing an earlier one of the same statement."""
        with self._lock:
            earlier = [
                past for past in self._by_browser.pop(browser, []) if (past.sql, past.scope) != (entry.sql, entry.scope)
            ]
            self._by_browser[browser] = [entry, *earlier][:MOST_KEPT]
            while len(self._by_browser) > MOST_BROWSERS:
                self._by_browser.popitem(last=False)
            self._has_unsaved = True
            starts_writing = self._path is not None and not self._is_writing
            self._is_writing = self._is_writing or starts_writing
        if starts_writing:  # a disk that hangs delays only this thread
            threading.Thread(target=self._write, name="asked-file", daemon=True).start()

    def entries(self, browser: str) -> list[HistoryEntry]:
        """Return a copy of this browser's entries, the newest first."""
        with self._lock:
            return list(self._by_browser.get(browser, []))

    def _write(self) -> None:
        while (unsaved := self._take_unsaved()) is not None and self._path:
            storable = {
                browser: _storable(questions) for browser, questions in unsaved.items() if self._is_open(browser)
            }
            try:
                write_private(self._path, _FILE.dump_json(storable, indent=1))
            except OSError as error:
                _log.warning("The SQL history cannot be saved (%s): it ends with this process.", error)

    def _take_unsaved(self) -> dict[str, list[HistoryEntry]] | None:
        """Return what must be written; None if nothing is left, after which the next entry starts a new thread."""
        with self._lock:
            if not self._has_unsaved:
                self._is_writing = False
                return None
            self._has_unsaved = False
            return dict(self._by_browser)


def _storable(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the entries that may be written: none with a secret, since masking would change the statement."""
    storable, free_bytes = list[HistoryEntry](), MOST_BYTES
    for entry in entries:
        if not secret_spans(entry.sql) and (size := _size(entry)) <= free_bytes:
            storable.append(entry._replace(outcome=mask_text(entry.outcome)))
            free_bytes -= size
    return storable


def _size(entry: HistoryEntry) -> int:
    """Return the entry's size in the file in bytes; above the limit if it is not valid text."""
    try:
        return len(_ENTRY.dump_json(entry, indent=1))
    except ValueError:
        return MOST_BYTES + 1


def _read(path: Path) -> dict[str, list[HistoryEntry]]:
    """Read the file; empty if it cannot be read, since nothing depends on it."""
    try:
        with open_regular(pin_path(path)) as file:
            return _FILE.validate_json(file.read(MOST_READ))
    except FileNotFoundError:
        return {}
    except (OSError, RuntimeError, NotRegularError, ValidationError) as error:
        _log.warning("%s is not a SQL history (%s).", path, type(error).__name__)
        return {}
