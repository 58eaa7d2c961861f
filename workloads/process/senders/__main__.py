"""A further process of a load generator: sends what it is given, and ends with who started it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp

from workloads.process.loop_watch import LoopWatch
from workloads.process.senders.frames import Ask, Begin, Cancel, Done, Frame, Used, next_frame, packed
from workloads.requests.answer_stream import StreamReading
from workloads.requests.client import Target, exchange, record_of
from workloads.requests.sending import open_session

REPORT_EVERY_S = 0.5
TO_ITS_STARTER = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)  # who says here what they mean


@dataclass
class Sender:
    """Requests under way; `say` writes to who started it."""

    session: aiohttp.ClientSession
    target: Target
    writer: asyncio.StreamWriter
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    onsets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.loops = LoopWatch(lambda onsets: setattr(self, "onsets", tuple(onsets)))

    def say(self, frame: Frame) -> None:
        """Write a frame into the pipe's buffer, without waiting for whoever reads it."""
        self.writer.write(packed(frame))

    def begin(self, ask: Ask) -> None:
        """Send a request in a task of its own; its record is sent at its end."""
        task = asyncio.create_task(self._send(ask))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _send(self, ask: Ask) -> None:
        """Cancelling it cancels the request, which is recorded like any other."""
        reading = StreamReading()
        with self.loops.watching(reading):
            went = await exchange(self.session, self.target, ask.request, ask.preface, reading)
        record = await asyncio.to_thread(record_of, self.target, ask.request, ask.place, went)
        self._report_used()
        self.say(Done(ask.number, record))

    def _report_used(self) -> None:
        self.say(Used(time.process_time(), self.onsets))

    async def report(self) -> None:
        """Report twice a second what CPU time is used and which streams loop, until it is cancelled."""
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            self._report_used()


async def main(given: int, replies: int) -> None:
    """Send what comes from the pipe `given` and report on the pipe `replies`, until `given` ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(given, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(replies, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    begun = await next_frame(reader)
    if not isinstance(begun, Begin):
        return
    async with open_session() as session:
        sender = Sender(session, begun.target, writer)
        async with sender.loops.running():
            reporting = asyncio.create_task(sender.report())
            while (frame := await next_frame(reader)) is not None:
                if isinstance(frame, Ask):
                    sender.begin(frame)
                elif isinstance(frame, Cancel):
                    for task in list(sender.tasks):
                        task.cancel()
            reporting.cancel()
            with suppress(asyncio.CancelledError):
                await reporting


if __name__ == "__main__":
    for number in TO_ITS_STARTER:
        signal.signal(number, signal.SIG_IGN)
    channel = os.dup(1)
    os.dup2(2, 1)  # whatever is printed must not stand in the channel
    sys.stdout = sys.stderr
    asyncio.run(main(0, channel))
