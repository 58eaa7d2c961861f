"""Additional process of a load generator: sends the requests it receives, and ends when its parent does."""

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
from workloads.process.senders.frames import (
    CancelAll,
    Configure,
    Frame,
    RequestResult,
    ResourceUsage,
    SendRequest,
    encode_frame,
    read_frame,
)
from workloads.requests.client import RequestTarget, exchange, record_of
from workloads.requests.protocols import reading_of
from workloads.requests.sending import open_session

REPORT_EVERY_S = 0.5
IGNORED_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)  # the parent handles them and sends frames


@dataclass
class Sender:
    """Sends requests and reports to the parent process."""

    session: aiohttp.ClientSession
    target: RequestTarget
    writer: asyncio.StreamWriter
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    onsets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.loops = LoopWatch(lambda onsets: setattr(self, "onsets", tuple(onsets)))

    def write(self, frame: Frame) -> None:
        """Write a frame into the pipe's buffer, without waiting for its reader."""
        self.writer.write(encode_frame(frame))

    def start_request(self, order: SendRequest) -> None:
        """Send a request in its own task; its record is reported at its end."""
        task = asyncio.create_task(self._send(order))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _send(self, order: SendRequest) -> None:
        """Send a request and report its record; a cancelled request is recorded like any other."""
        reading = reading_of(self.target.endpoint)
        with self.loops.watching(reading):
            completed = await exchange(self.session, self.target, order.request, order.preface, reading)
        record = await asyncio.to_thread(record_of, self.target, order.request, order.position, completed)
        self._report_usage()
        self.write(RequestResult(order.number, record))

    def _report_usage(self) -> None:
        self.write(ResourceUsage(time.process_time(), self.onsets))

    async def report(self) -> None:
        """Report the used CPU time and the looping streams twice a second, until cancelled."""
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            self._report_usage()


async def main(requests_fd: int, replies_fd: int) -> None:
    """Send the requests from the pipe `requests_fd` and report on `replies_fd`, until `requests_fd` ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(requests_fd, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(replies_fd, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    first_frame = await read_frame(reader)
    if not isinstance(first_frame, Configure):
        return
    async with open_session() as session:
        sender = Sender(session, first_frame.target, writer)
        async with sender.loops.running():
            reporting = asyncio.create_task(sender.report())
            while (frame := await read_frame(reader)) is not None:
                if isinstance(frame, SendRequest):
                    sender.start_request(frame)
                elif isinstance(frame, CancelAll):
                    for task in list(sender.tasks):
                        task.cancel()
            reporting.cancel()
            with suppress(asyncio.CancelledError):
                await reporting


if __name__ == "__main__":
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    channel = os.dup(1)
    os.dup2(2, 1)  # printed text must not get into the channel
    sys.stdout = sys.stderr
    asyncio.run(main(0, channel))
