"""What was asked on the SQL page, a list for each browser that is signed in; kept over a restart in a file of ours.

Not in the store: that is published, and everybody who signs in reads all of it by SQL.
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
from machine.regular_file import NotRegularError, opened, pinned
from redaction import mask_text, secret_spans

MOST_KEPT, MOST_BROWSERS = 40, 100
MOST_BYTES = 64 * 1024  # of one browser in the file
MOST_READ = MOST_BROWSERS * (MOST_BYTES + 1024)  # a longer file is none of ours
_log = logging.getLogger(__name__)


class Question(NamedTuple):
    """One statement that was asked, and in a few words what came of it."""

    sql: str
    at: datetime
    outcome: str  # '12 rows in 8 ms', or why there were none
    whose: str = "mine"  # or all machines'


_FILE, _ONE = TypeAdapter(dict[str, list[Question]]), TypeAdapter(Question)


class AskedBook:
    """The questions of each browser, the newest first; safe from any thread, and no page waits for its file."""

    def __init__(self, path: Path | None = None, is_open: Callable[[str], bool] = lambda browser: True) -> None:
        """`path`: None to forget them with the process. `is_open`: whether this browser is still signed in."""
        self._path = path
        self._is_open = is_open
        self._lock = threading.Lock()
        self._by_browser = OrderedDict(_read(path) if path else {})
        self._is_writing = self._is_newer = False

    def add(self, browser: str, question: Question) -> None:
        """Keep it in the place of the same statement asked before."""
        with self._lock:
            earlier = [
                one
                for one in self._by_browser.pop(browser, [])
                if (one.sql, one.whose) != (question.sql, question.whose)
            ]
            self._by_browser[browser] = [question, *earlier][:MOST_KEPT]
            while len(self._by_browser) > MOST_BROWSERS:
                self._by_browser.popitem(last=False)
            self._is_newer = True
            begins = self._path is not None and not self._is_writing
            self._is_writing = self._is_writing or begins
        if begins:  # a disk that hangs holds up this thread alone
            threading.Thread(target=self._write, name="asked-file", daemon=True).start()

    def of(self, browser: str) -> list[Question]:
        """What this browser asked, the newest first, as a copy; empty for one that has asked nothing."""
        with self._lock:
            return list(self._by_browser.get(browser, []))

    def _write(self) -> None:
        while (asked := self._newer()) is not None and self._path:
            kept = {browser: _kept(questions) for browser, questions in asked.items() if self._is_open(browser)}
            try:
                write_private(self._path, _FILE.dump_json(kept, indent=1))
            except OSError as error:
                _log.warning("What was asked on SQL cannot be written (%s): it ends with this process.", error)

    def _newer(self) -> dict[str, list[Question]] | None:
        """What is to be written; None where that is done, and the next question begins the writing anew."""
        with self._lock:
            if not self._is_newer:
                self._is_writing = False
                return None
            self._is_newer = False
            return dict(self._by_browser)


def _kept(questions: Sequence[Question]) -> list[Question]:
    """What of them may be written: nothing with a secret, of which a masked statement would ask another thing."""
    kept, left = list[Question](), MOST_BYTES
    for one in questions:
        if not secret_spans(one.sql) and (size := _size(one)) <= left:
            kept.append(one._replace(outcome=mask_text(one.outcome)))
            left -= size
    return kept


def _size(question: Question) -> int:
    """In bytes of the file; beyond all bounds where a browser sent what is no text."""
    try:
        return len(_ONE.dump_json(question, indent=1))
    except ValueError:
        return MOST_BYTES + 1


def _read(path: Path) -> dict[str, list[Question]]:
    """What the file holds; nothing where it cannot be read, for nothing hangs on it."""
    try:
        with opened(pinned(path)) as file:
            return _FILE.validate_json(file.read(MOST_READ))
    except FileNotFoundError:
        return {}
    except (OSError, RuntimeError, NotRegularError, ValidationError) as error:
        _log.warning("%s holds nothing that was asked on SQL (%s).", path, type(error).__name__)
        return {}
