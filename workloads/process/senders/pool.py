"""The processes that a load's requests are spread over: this one, and as many further ones as are needed.

One process reads some 25,000 events a CPU-second (benchmarks/client_ceiling.py). From LIMIT of a core on it may be what
is measured, and a further process takes a part. The schedule, pauses, records and results stay in this one.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from load_records import RequestRecord
from workloads.plan import PlannedRequest
from workloads.process.senders.frames import Ask, Begin, Cancel, Done, Used, next_frame, packed
from workloads.requests.answer_stream import StreamReading
from workloads.requests.client import Place, Target, record_of
from workloads.requests.exchange import Exchange

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 0.7  # of one core
LOOK_EVERY_S = 1.0
MOST = 8
DIED = "a process of the load generator ended before the answer did"


@dataclass
class Further:
    """One further process."""

    process: asyncio.subprocess.Process
    waiting: dict[int, asyncio.Future[RequestRecord | None]] = field(default_factory=dict)
    cpu_s: float = 0.0
    onsets: tuple[int, ...] = ()
    is_over: bool = False

    def say(self, frame: Begin | Ask | Cancel) -> None:
        """Send a frame; dropped once its input is being closed, for it takes no more requests then."""
        assert self.process.stdin
        if not self.process.stdin.is_closing():
            self.process.stdin.write(packed(frame))

    async def listen(self) -> None:
        """Until it ends; what it has not answered then is answered by None."""
        assert self.process.stdout
        try:
            while (frame := await next_frame(self.process.stdout)) is not None:
                if isinstance(frame, Used):
                    self.cpu_s, self.onsets = frame.cpu_s, frame.onsets
                elif isinstance(frame, Done):
                    self._answer(frame.number, frame.record)
        finally:
            self.is_over = True
            for number in self.waiting:
                self._answer(number, None)

    def _answer(self, number: int, record: RequestRecord | None) -> None:
        """For whoever waits for it: a request may be given up while its record is on the way."""
        one = self.waiting.get(number)
        if one and not one.done():
            one.set_result(record)


@dataclass
class Pool:
    """`wanted` processes from the beginning; None: one, and further ones as this one's CPU is used up."""

    target: Target
    wanted: int | None = None
    own: int = 0  # requests under way in this process
    further: list[Further] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _is_cancelled: bool = False

    @property
    def count(self) -> int:
        """Processes so far."""
        return 1 + len(self.further)

    def onsets(self) -> list[int]:
        """The word from which each looping stream of the other senders loops."""
        return [onset for one in self.further for onset in one.onsets]

    def cpu_s(self) -> float:
        """CPU seconds that all of them have used."""
        return time.process_time() + sum(one.cpu_s for one in self.further)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its processes live meanwhile."""
        for _ in range((self.wanted or 1) - 1):
            await self._add()
        if self.wanted is None:
            self._tasks.append(asyncio.create_task(self._grow()))
        try:
            yield
        finally:
            await self._end()

    def least_busy(self) -> Further | None:
        """Who takes the next request; None: this process."""
        living = [one for one in self.further if not one.is_over]
        other = min(living, key=lambda one: len(one.waiting), default=None)
        return other if other and len(other.waiting) <= self.own else None

    async def send(self, to: Further, request: PlannedRequest, place: Place, preface: str) -> RequestRecord:
        """Its record, made there; one of a process that ended says so."""
        number, sent_at, sent_s = next(self._numbers), self.target.utc_now(), self.target.mono_s()
        answer = to.waiting[number] = asyncio.get_running_loop().create_future()
        try:
            to.say(Ask(number, request, place, preface))
            record: RequestRecord | None = await answer
        finally:
            del to.waiting[number]
        if record:
            return record
        kind = "cancelled" if self._is_cancelled else "closed"
        lost = Exchange({}, StreamReading(), sent_at, sent_s, self.target.mono_s(), kind, DIED)
        return record_of(self.target, request, place, lost)

    def cancel(self) -> None:
        """What is under way elsewhere is recorded as cancelled."""
        self._is_cancelled = True
        for one in self.further:
            one.say(Cancel())

    async def _add(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workloads.process.senders", cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        one = Further(process)
        one.say(Begin(self.target))
        self.further.append(one)
        self._tasks.append(asyncio.create_task(one.listen()))

    async def _grow(self) -> None:
        """One more whenever none of them has room left, as long as there are cores."""
        most, used, looked_s = min(MOST, os.cpu_count() or 1), [time.process_time()], time.monotonic()
        while self.count < most:
            await asyncio.sleep(LOOK_EVERY_S)
            now_s, now = time.monotonic(), [time.process_time(), *(one.cpu_s for one in self.further)]
            shares = [(new - old) / (now_s - looked_s) for new, old in zip(now, used, strict=True)]
            if min(shares) >= LIMIT:
                await self._add()
                now.append(0.0)
            used, looked_s = now, now_s

    async def _end(self) -> None:
        for one in self.further:
            assert one.process.stdin
            one.process.stdin.close()
        for one in self.further:
            with suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await one.process.wait()
            if one.process.returncode is None:
                one.process.kill()
                await one.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
