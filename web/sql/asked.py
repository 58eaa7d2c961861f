"""What was asked on the SQL page, a list for each browser that is signed in; in memory, and gone with Pitwall."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import NamedTuple

MOST_KEPT, MOST_BROWSERS = 40, 100


class Question(NamedTuple):
    """One statement that was asked, and in a few words what came of it."""

    sql: str
    at: datetime
    outcome: str  # '12 rows in 8 ms', or why there were none
    whose: str = "mine"  # or all machines'


class AskedBook:
    """The questions of each browser, the newest first; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_browser: OrderedDict[str, list[Question]] = OrderedDict()

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

    def of(self, browser: str) -> list[Question]:
        """What this browser asked, the newest first, as a copy; empty for one that has asked nothing."""
        with self._lock:
            return list(self._by_browser.get(browser, []))


ASKED = AskedBook()
