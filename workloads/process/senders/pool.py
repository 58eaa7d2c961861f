"""Pool of the processes that send a load's requests: this one, and additional ones as needed.

One process reads about 25,000 events per CPU second (benchmarks/client_ceiling.py). Above CPU_LIMIT of a core the
client may distort the measurement, so another process is added. Schedule, pauses, records and results stay here.
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
from workloads.process.senders.frames import (
    CancelAll,
    Configure,
    RequestResult,
    ResourceUsage,
    SendRequest,
    encode_frame,
    read_frame,
)
from workloads.requests.answer_stream import StreamReading
from workloads.requests.client import RequestPosition, RequestTarget, record_of
from workloads.requests.exchange import Exchange

ROOT = Path(__file__).resolve().parents[3]
CPU_LIMIT = 0.7  # of one core
CHECK_EVERY_S = 1.0
MAX_PROCESSES = 8
ENDED_EARLY = "a process of the load generator ended before the answer did"


@dataclass
class SenderProcess:
    """An additional process."""

    process: asyncio.subprocess.Process
    pending: dict[int, asyncio.Future[RequestRecord | None]] = field(default_factory=dict)
    cpu_s: float = 0.0
    onsets: tuple[int, ...] = ()
    is_over: bool = False

    def write(self, frame: Configure | SendRequest | CancelAll) -> None:
        """Send a frame; dropped once the process's input is being closed."""
        assert self.process.stdin
        if not self.process.stdin.is_closing():
            self.process.stdin.write(encode_frame(frame))

    async def listen(self) -> None:
        """Receive frames until the process ends; its unanswered requests then get None."""
        assert self.process.stdout
        try:
            while (frame := await read_frame(self.process.stdout)) is not None:
                if isinstance(frame, ResourceUsage):
                    self.cpu_s, self.onsets = frame.cpu_s, frame.onsets
                elif isinstance(frame, RequestResult):
                    self._answer(frame.number, frame.record)
        finally:
            self.is_over = True
            for number in self.pending:
                self._answer(number, None)

    def _answer(self, number: int, record: RequestRecord | None) -> None:
        """Complete a pending request, unless it was cancelled while its record was on the way."""
        future = self.pending.get(number)
        if future and not future.done():
            future.set_result(record)


@dataclass
class SenderPool:
    """`requested_count` processes from the start; None: one, and more when all CPU cores in use are busy."""

    target: RequestTarget
    requested_count: int | None = None
    own_requests: int = 0  # requests in flight in this process
    senders: list[SenderProcess] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _is_cancelled: bool = False

    @property
    def count(self) -> int:
        """Number of processes so far."""
        return 1 + len(self.senders)

    def onsets(self) -> list[int]:
        """Return the first looped word of each looping stream in the other processes."""
        return [onset for sender in self.senders for onset in sender.onsets]

    def cpu_s(self) -> float:
        """Return the CPU seconds used by all processes."""
        return time.process_time() + sum(sender.cpu_s for sender in self.senders)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the processes within the context."""
        for _ in range((self.requested_count or 1) - 1):
            await self._add()
        if self.requested_count is None:
            self._tasks.append(asyncio.create_task(self._grow()))
        try:
            yield
        finally:
            await self._end()

    def least_busy(self) -> SenderProcess | None:
        """Return the process for the next request; None: this process."""
        running = [sender for sender in self.senders if not sender.is_over]
        least_busy_sender = min(running, key=lambda candidate: len(candidate.pending), default=None)
        return least_busy_sender if least_busy_sender and len(least_busy_sender.pending) <= self.own_requests else None

    async def send(
        self, sender: SenderProcess, request: PlannedRequest, position: RequestPosition, preface: str
    ) -> RequestRecord:
        """Send a request through another process and return its record; an error record if that process ended."""
        number, sent_at, sent_s = next(self._numbers), self.target.utc_now(), self.target.mono_s()
        answer = sender.pending[number] = asyncio.get_running_loop().create_future()
        try:
            sender.write(SendRequest(number, request, position, preface))
            record: RequestRecord | None = await answer
        finally:
            del sender.pending[number]
        if record:
            return record
        kind = "cancelled" if self._is_cancelled else "closed"
        failed = Exchange({}, StreamReading(), sent_at, sent_s, self.target.mono_s(), kind, ENDED_EARLY)
        return record_of(self.target, request, position, failed)

    def cancel(self) -> None:
        """Cancel the requests of the other processes, which record them as cancelled."""
        self._is_cancelled = True
        for sender in self.senders:
            sender.write(CancelAll())

    async def _add(self) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workloads.process.senders", cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        sender = SenderProcess(process)
        sender.write(Configure(self.target))
        self.senders.append(sender)
        self._tasks.append(asyncio.create_task(sender.listen()))

    async def _grow(self) -> None:
        """Add a process whenever all are above CPU_LIMIT, up to the number of cores."""
        max_count, previous_cpu_s, checked_s = (
            min(MAX_PROCESSES, os.cpu_count() or 1),
            [time.process_time()],
            time.monotonic(),
        )
        while self.count < max_count:
            await asyncio.sleep(CHECK_EVERY_S)
            now_s, current_cpu_s = time.monotonic(), [time.process_time(), *(sender.cpu_s for sender in self.senders)]
            shares = [(new - old) / (now_s - checked_s) for new, old in zip(current_cpu_s, previous_cpu_s, strict=True)]
            if min(shares) >= CPU_LIMIT:
                await self._add()
                current_cpu_s.append(0.0)
            previous_cpu_s, checked_s = current_cpu_s, now_s

    async def _end(self) -> None:
        for sender in self.senders:
            assert sender.process.stdin
            sender.process.stdin.close()
        for sender in self.senders:
            with suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await sender.process.wait()
            if sender.process.returncode is None:
                sender.process.kill()
                await sender.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
