"""Checks running streams for looping text, so that a page can show it while it happens.

The checks are cheap because they share a process with the measurement's clock: only the tail of a text, a few streams
at a time, in a thread. The record of a request judges the whole text after its end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from analysis.runs.collapse import FENCE, WORD, find_collapse
from workloads.requests.answer_stream import StreamReading

TICK_S = 0.5
LOOK_EVERY_S = 2.0
LOOK_EVERY_PIECES = 64
TAIL_CHARACTERS = 3000  # some 500 words: 0.8 ms a look
CUT_WITHIN = 200  # characters in which a cut looks for the end of a line
MOST_A_TICK = 8


@dataclass(slots=True)
class Watched:
    """One stream: the tail of its text, and what went before it."""

    reading: StreamReading
    looked_s: float
    taken: int = 0  # pieces of the text
    tail: str = ""
    words_before: int = 0
    is_fenced: bool = False  # whether the tail begins within a block of code
    onset_word: int | None = None  # of the loop that it is in now

    def is_due(self, now_s: float) -> bool:
        """Whether so many pieces have come since the last look, or fewer but time enough has passed."""
        new = len(self.reading.text) - self.taken
        return new >= LOOK_EVERY_PIECES or (new > 0 and now_s - self.looked_s >= LOOK_EVERY_S)

    def look(self, now_s: float) -> None:
        """Take what is new, and judge the tail."""
        new = self.reading.text[self.taken :]
        self.taken, self.looked_s = self.taken + len(new), now_s
        self._shorten(self.tail + "".join(new))
        found = find_collapse(f"{FENCE}\n{self.tail}" if self.is_fenced else self.tail)
        if found.verdict != "collapsed" or found.onset_word is None:
            self.onset_word = None
        elif self.onset_word is None:
            self.onset_word = max(0, self.words_before + found.onset_word - self.is_fenced)

    def _shorten(self, text: str) -> None:
        """Keep the tail, cut where a line or a word ends."""
        excess = len(text) - TAIL_CHARACTERS
        if excess > 0:
            ends = (text.find(sign, excess, excess + CUT_WITHIN) for sign in "\n ")
            cut = next((end + 1 for end in ends if end >= 0), excess)
            dropped, text = text[:cut], text[cut:]
            self.words_before += len(WORD.findall(dropped))
            self.is_fenced ^= sum(line.lstrip().startswith(FENCE) for line in dropped.splitlines()) % 2 == 1
        self.tail = text


class LoopWatch:
    """`report(onsets)` gets the word since which each looping stream loops, whenever that has changed."""

    def __init__(self, report: Callable[[Sequence[int]], None]) -> None:
        self._report = report
        self._watched: dict[int, Watched] = {}
        self._reported: list[int] = []

    @contextmanager
    def watching(self, reading: StreamReading) -> Iterator[None]:
        """Look at this stream meanwhile."""
        self._watched[id(reading)] = Watched(reading, time.monotonic())
        try:
            yield
        finally:
            del self._watched[id(reading)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look at whatever is watched meanwhile; raises what telling raises."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            await self.look()

    async def look(self) -> None:
        """Look at those that are due, the longest unseen first, and report."""
        now_s = time.monotonic()
        due = sorted((one for one in self._watched.values() if one.is_due(now_s)), key=lambda one: one.looked_s)
        if due:
            await asyncio.to_thread(_look_at, due[:MOST_A_TICK], now_s)
        onsets = sorted(one.onset_word for one in self._watched.values() if one.onset_word is not None)
        if onsets != self._reported:
            self._reported = onsets
            self._report(onsets)


def _look_at(streams: Sequence[Watched], now_s: float) -> None:
    for one in streams:
        one.look(now_s)
