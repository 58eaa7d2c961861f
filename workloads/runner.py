"""Goes through a workload's plan against one server: one line per request, a progress file, signals to steer it."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

from samples import RequestRecord
from workloads.client import Exchange, Place, Target, exchange, open_client, record_of
from workloads.job import Job, Progress, write_progress
from workloads.load_book import LoadBook
from workloads.plan import Phase, Plan, PlannedRequest
from workloads.records import append_record

EXIT_DONE = 0
EXIT_UNREACHABLE = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in the plan requests are sent."""

    phase_index: int
    phase: Phase
    segment: int
    phase_began_s: float

    def place(self, request_id: str, load_id: str, sequence: int, stream: int) -> Place:
        return Place(
            request_id=request_id,
            load_id=load_id,
            phase=self.phase.kind,
            phase_title=self.phase.title,
            phase_index=self.phase_index,
            sequence=sequence,
            segment=self.segment,
            stream=stream,
            concurrency=self.phase.concurrency,
            phase_began_s=self.phase_began_s,
        )


@dataclass
class Runner:
    """One pass through a plan.

    SIGTERM and SIGINT cancel it, SIGUSR1 pauses it after the requests in flight, SIGUSR2 lets it go on.
    """

    job: Job
    plan: Plan
    target: Target
    book: LoadBook
    records: list[RequestRecord] = field(default_factory=list)
    phase: Phase | None = None
    is_cancelled: bool = False
    in_flight: set[asyncio.Task[Exchange]] = field(default_factory=set)
    may_send: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.started_s = self.target.mono_s()
        self.requests_total = sum(len(phase.requests) for phase in self.plan)
        self.tokens_planned = sum(request.max_tokens for phase in self.plan for request in phase.requests)
        self.paused_s = 0.0
        self.paused_at_s = self.started_s
        self.tokens_ended = 0  # of the plan, by the limits of the requests that have ended
        self.names: Iterator[str] = (f"{self.book.load_id}-{number:04d}" for number in range(self.requests_total))

    async def run(self) -> int:
        """Send everything planned; returns the exit code. Raises OSError where results cannot be written."""
        self._obey_signals()
        self.may_send.set()
        self.book.begin(self.plan)
        async with open_client() as client:
            for index, phase in enumerate(self.plan):
                self.phase = phase
                self.tell("running")
                await self._run_phase(client, index, phase)
        await self.book.look()
        self.phase = None
        self.tell("cancelled" if self.is_cancelled else "done")
        was_reached = self.is_cancelled or any(record.http_status for record in self.records)
        return EXIT_DONE if was_reached else EXIT_UNREACHABLE

    async def _run_phase(self, client: httpx.AsyncClient, index: int, phase: Phase) -> None:
        """Its segments one after the other, the counters read before each while nothing is in flight."""
        began_at, began_s, paused_s = self.target.utc_now(), self.target.mono_s(), self.paused_s
        sequence = itertools.count()
        for segment in phase.segments():
            await self.book.look()
            spot = Spot(index, phase, self.book.segment, began_s)
            waiting = zip(sequence, segment, strict=False)
            streams = range(phase.concurrency)
            await asyncio.gather(*(self._run_stream(client, spot, waiting, stream) for stream in streams))
        duration_s = self.target.mono_s() - began_s
        self.book.end_phase(index, phase, began_at, duration_s, self.paused_s - paused_s, not self.is_cancelled)

    async def _run_stream(
        self, client: httpx.AsyncClient, spot: Spot, waiting: Iterator[tuple[int, PlannedRequest]], stream: int
    ) -> None:
        """Send one waiting request after the other until none is left or the job is cancelled."""
        while True:
            await self.may_send.wait()
            found = None if self.is_cancelled else next(waiting, None)
            if found is None:
                return
            sequence, request = found
            place = spot.place(next(self.names), self.book.load_id, sequence, stream)
            task = asyncio.create_task(exchange(client, self.target, request))
            self.in_flight.add(task)
            with suppress(asyncio.CancelledError):  # cancelled before it was sent: there is nothing to record
                went = await task
                self._keep(await asyncio.to_thread(record_of, self.target, request, place, went), request)
            self.in_flight.discard(task)

    def _keep(self, record: RequestRecord, request: PlannedRequest) -> None:
        append_record(self.job.out, record)
        self.records.append(record)
        self.tokens_ended += request.max_tokens
        self.tell("running")

    def tell(self, state: str) -> None:
        """Write the progress file; the estimate takes the pace so far, pauses aside, for all that is still planned."""
        elapsed_s = self.target.mono_s() - self.started_s
        left = self.tokens_planned - self.tokens_ended
        progress = Progress(
            run_id=self.job.run_id,
            workload=self.job.workload,
            state=state if self.may_send.is_set() else "paused",
            phase=self.phase.title if self.phase else None,
            done=len(self.records),
            total=self.requests_total,
            errors=sum(record.error_kind is not None for record in self.records),
            remaining_s=round((elapsed_s - self.paused_s) * left / self.tokens_ended, 1) if self.tokens_ended else None,
            updated_at=self.target.utc_now().isoformat(),
        )
        write_progress(self.job.progress, progress)

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.cancel)
        loop.add_signal_handler(signal.SIGUSR1, self.pause)
        loop.add_signal_handler(signal.SIGUSR2, self.go_on)

    def cancel(self) -> None:
        """Send nothing more; what is in flight is recorded as cancelled."""
        self.is_cancelled = True
        self.may_send.set()
        for task in self.in_flight:
            task.cancel()

    def pause(self) -> None:
        if self.may_send.is_set():
            self.paused_at_s = self.target.mono_s()
        self.may_send.clear()
        self.tell("paused")

    def go_on(self) -> None:
        if not self.may_send.is_set():
            self.paused_s += self.target.mono_s() - self.paused_at_s
        self.may_send.set()
        self.tell("running")
