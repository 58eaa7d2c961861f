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
CHECK_EVERY_S = 2.0
CHECK_EVERY_PIECES = 64
TAIL_CHARS = 3000  # about 500 words: 0.8 ms per check
CUT_WINDOW_CHARS = 200  # in which a cut searches the end of a line
MAX_PER_TICK = 8


@dataclass(slots=True)
class WatchedStream:
    """A running stream: the tail of its text, and the state before the tail."""

    reading: StreamReading
    checked_s: float
    taken_pieces: int = 0  # of the text, already in the tail
    tail: str = ""
    words_before: int = 0
    is_fenced: bool = False  # the tail begins within a code block
    onset_word: int | None = None  # first word of the current loop

    def is_due(self, now_s: float) -> bool:
        """Return whether enough pieces, or enough time with any piece, have passed since the last check."""
        new_count = len(self.reading.text) - self.taken_pieces
        return new_count >= CHECK_EVERY_PIECES or (new_count > 0 and now_s - self.checked_s >= CHECK_EVERY_S)

    def check(self, now_s: float) -> None:
        """Add new pieces to the tail and check it for a loop."""
        new_pieces = self.reading.text[self.taken_pieces :]
        self.taken_pieces, self.checked_s = self.taken_pieces + len(new_pieces), now_s
        self._shorten(self.tail + "".join(new_pieces))
        collapse = find_collapse(f"{FENCE}\n{self.tail}" if self.is_fenced else self.tail)
        if collapse.verdict != "collapsed" or collapse.onset_word is None:
            self.onset_word = None
        elif self.onset_word is None:
            self.onset_word = max(0, self.words_before + collapse.onset_word - self.is_fenced)

    def _shorten(self, text: str) -> None:
        """Keep the tail of the text, cut at the end of a line or word."""
        excess = len(text) - TAIL_CHARS
        if excess > 0:
            ends = (text.find(sign, excess, excess + CUT_WINDOW_CHARS) for sign in "\n ")
            cut = next((end + 1 for end in ends if end >= 0), excess)
            dropped, text = text[:cut], text[cut:]
            self.words_before += len(WORD.findall(dropped))
            self.is_fenced ^= sum(line.lstrip().startswith(FENCE) for line in dropped.splitlines()) % 2 == 1
        self.tail = text


class LoopWatch:
    """Checks running streams; calls `report` with the first looped word of each looping stream, on changes."""

    def __init__(self, report: Callable[[Sequence[int]], None]) -> None:
        self._report = report
        self._streams: dict[int, WatchedStream] = {}
        self._reported_onsets: list[int] = []

    @contextmanager
    def watching(self, reading: StreamReading) -> Iterator[None]:
        """Check this stream within the context."""
        self._streams[id(reading)] = WatchedStream(reading, time.monotonic())
        try:
            yield
        finally:
            del self._streams[id(reading)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the checks within the context; raises what `report` raises."""
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
            await self.check_due()

    async def check_due(self) -> None:
        """Check the streams that are due, the longest unchecked first, and report."""
        now_s = time.monotonic()
        due = sorted(
            (stream for stream in self._streams.values() if stream.is_due(now_s)), key=lambda stream: stream.checked_s
        )
        if due:
            await asyncio.to_thread(_check_streams, due[:MAX_PER_TICK], now_s)
        onsets = sorted(stream.onset_word for stream in self._streams.values() if stream.onset_word is not None)
        if onsets != self._reported_onsets:
            self._reported_onsets = onsets
            self._report(onsets)


def _check_streams(streams: Sequence[WatchedStream], now_s: float) -> None:
    for stream in streams:
        stream.check(now_s)
