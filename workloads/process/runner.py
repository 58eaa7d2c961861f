"""Executes a workload's plan against one server: one line per request, a progress file, control by signals."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

import aiohttp

from load_records import RequestRecord
from workloads.plan import AS_THEY_ARRIVE, Numbered, Params, Phase, Plan, PlannedRequest, Workload, by_thread
from workloads.process.job import Job
from workloads.process.load_book import LoadBook
from workloads.process.loop_watch import LoopWatch
from workloads.process.pace import Pace
from workloads.process.senders.pool import Pool
from workloads.requests.answer_stream import StreamReading
from workloads.requests.client import Place, Target, exchange, record_of
from workloads.requests.exchange import Exchange
from workloads.requests.records import append_record
from workloads.requests.sending import open_session
from workloads.suites.cases import check_of
from workloads.texts.fitting import Fitter

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
        """Where one request stands in its load, for its record; `sequence` counts within the phase, from 0."""
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
    """One pass through a plan, and what follows from it.

    SIGTERM and SIGINT cancel it, SIGUSR1 pauses it after the requests in flight, SIGUSR2 lets it go on.
    """

    job: Job
    workload: Workload
    params: Params
    target: Target
    book: LoadBook
    records: list[RequestRecord] = field(default_factory=list)
    in_flight: set[asyncio.Task[Exchange]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plan: Plan = self.workload.build(self.params)
        self.pace = Pace(self.job, self.plan, self.target.mono_s, self.target.utc_now)
        self.names: Iterator[str] = (f"{self.book.load_id}-{number:04d}" for number in itertools.count())
        self.pool = Pool(self.target, self.job.client_processes)
        self.loops = LoopWatch(lambda onsets: self.pace.note_loops(sorted([*onsets, *self.pool.onsets()])))
        self.is_cold = self.params.prefix_cache == "cold"

    async def run(self) -> int:
        """Send everything planned; returns the exit code. Raises OSError where results cannot be written."""
        self._obey_signals()
        self.book.begin(self.plan, self.workload.is_adaptive)
        async with open_session() as session, self.pool.running(), self.loops.running():
            fitter = Fitter(session, self.target)
            for index, phase in enumerate(self._phases()):
                self.pace.enter(phase)
                await self._run_phase(session, index, await fitter.fitted(phase))
        await self.book.look()
        concluded = self.workload.conclude(self.params, self.book.load_id, self.target.utc_now(), self.records)
        self.book.write_results(self.records, concluded)
        self.pace.end()
        was_reached = self.pace.is_cancelled or any(record.http_status for record in self.records)
        return EXIT_DONE if was_reached else EXIT_UNREACHABLE

    def _phases(self) -> Iterator[Phase]:
        """Those of the plan, then those that follow from what was measured."""
        yield from self.plan
        while not self.pace.is_cancelled and (phase := self.workload.further(self.params, self.records)):
            self.pace.add(phase)
            yield phase

    async def _run_phase(self, session: aiohttp.ClientSession, index: int, phase: Phase) -> None:
        """Its segments one after the other, the counters read before each while nothing is in flight."""
        began_at, began_s, paused_s = self.target.utc_now(), self.target.mono_s(), self.pace.paused_s
        cpu_s = self.pool.cpu_s()
        sequence = itertools.count()
        for segment in phase.segments():
            await self.book.look()
            spot = Spot(index, phase, self.book.segment, began_s)
            waiting = by_thread(zip(sequence, segment, strict=False))
            if phase.concurrency == AS_THEY_ARRIVE:
                await self._run_by_the_clock(session, spot, waiting)
            else:
                streams = range(phase.concurrency)
                await asyncio.gather(*(self._run_stream(session, spot, waiting, stream) for stream in streams))
        duration_s = self.target.mono_s() - began_s
        paused_s = self.pace.paused_s - paused_s
        used_s, is_complete = self.pool.cpu_s() - cpu_s, not self.pace.is_cancelled
        self.book.end_phase(index, phase, began_at, duration_s, paused_s, is_complete, used_s, self.pool.count)

    async def _run_stream(
        self, session: aiohttp.ClientSession, spot: Spot, waiting: Iterator[list[Numbered]], stream: int
    ) -> None:
        """Send what waits, one after the other, until nothing is left, the phase is over or the load is cancelled."""
        for thread in waiting:
            for sequence, request in thread:
                await self.pace.wait(request.think_s)
                if self._is_over(spot):
                    return
                await self._converse(session, spot, request, sequence, stream)

    async def _run_by_the_clock(
        self, session: aiohttp.ClientSession, spot: Spot, waiting: Iterator[list[Numbered]]
    ) -> None:
        """Send each at its time, however many are under way; a pause moves all that follow."""
        paused_s = self.pace.paused_s
        async with asyncio.TaskGroup() as sent:
            for sequence, request in itertools.chain.from_iterable(waiting):
                due_s = spot.phase_began_s + (request.sent_after_s or 0.0) + self.pace.paused_s - paused_s
                await self.pace.wait(due_s - self.target.mono_s())
                if self._is_over(spot):
                    return
                sent.create_task(self._converse(session, spot, request, sequence, sequence))

    def _is_over(self, spot: Spot) -> bool:
        limit_s = spot.phase.limit_s
        is_late = limit_s is not None and self.target.mono_s() - spot.phase_began_s >= limit_s
        return self.pace.is_cancelled or is_late

    async def _converse(
        self, session: aiohttp.ClientSession, spot: Spot, request: PlannedRequest, sequence: int, stream: int
    ) -> None:
        """Send a request, and where it begins a case all that follow from the answers; then judge the case."""
        went: list[Exchange] = []
        asked: PlannedRequest | None = request
        while asked and not self.pace.is_cancelled:
            if went:
                self.pace.add_request(asked)
            if (one := await self._send(session, spot, asked, sequence, stream)) is not None:
                went.append(one)
            asked = request.case.follow(went) if request.case and went else None
        if request.case and went and not self.pace.is_cancelled:
            now = self.target.utc_now()
            self.book.write_check(check_of(request.case, went, self.job, self.book.load_id, now))

    async def _send(
        self, session: aiohttp.ClientSession, spot: Spot, request: PlannedRequest, sequence: int, stream: int
    ) -> Exchange | None:
        """One request, recorded; None where it was cancelled before it was sent, or another process sent it."""
        place = spot.place(next(self.names), self.book.load_id, sequence, stream)
        preface = f"({place.request_id}) " if self.is_cold else ""
        if request.case is None and (other := self.pool.least_busy()):
            self._keep(await self.pool.send(other, request, place, preface), request)
            return None
        reading = StreamReading()
        task = asyncio.create_task(exchange(session, self.target, request, preface, reading))
        self.in_flight.add(task)
        self.pool.own += 1
        try:
            with self.loops.watching(reading):
                went = await task
        except asyncio.CancelledError:
            return None
        finally:
            self.in_flight.discard(task)
            self.pool.own -= 1
        self._keep(await asyncio.to_thread(record_of, self.target, request, place, went), request)
        return went

    def _keep(self, record: RequestRecord, request: PlannedRequest) -> None:
        append_record(self.job.out, record)
        self.records.append(record)
        self.pace.note(record, request)

    def cancel(self) -> None:
        """Send nothing more; what is in flight is recorded as cancelled."""
        self.pace.cancel()
        self.pool.cancel()
        for task in self.in_flight:
            task.cancel()

    def _obey_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.cancel)
        loop.add_signal_handler(signal.SIGUSR1, self.pace.pause)
        loop.add_signal_handler(signal.SIGUSR2, self.pace.go_on)
