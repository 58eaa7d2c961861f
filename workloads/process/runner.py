"""Executes a workload's plan against one server; writes one line per request and a progress file; obeys signals."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import aiohttp

from load_records import RequestRecord
from workloads.job import LoadJob
from workloads.plan import AS_THEY_ARRIVE, Numbered, Params, Phase, Plan, PlannedRequest, Workload, group_by_thread
from workloads.process.load_book import LoadBook
from workloads.process.loop_watch import LoopWatch
from workloads.process.pace import Pace
from workloads.process.senders.pool import SenderPool
from workloads.requests.client import RequestPosition, RequestTarget, exchange, new_reading, record_of
from workloads.requests.exchange import Exchange
from workloads.requests.records import append_record
from workloads.requests.sending import open_session
from workloads.requests.token_probe import TokenReading
from workloads.suites.cases import check_of
from workloads.texts.fitting import Fitter
from workloads.texts.probe_fitting import ProbeFitter
from workloads.texts.replay_texts import ReplayTexts

EXIT_DONE = 0
EXIT_UNREACHABLE = 3


@dataclass(frozen=True, slots=True)
class SegmentContext:
    """Phase and segment in which requests are sent."""

    phase_index: int
    phase: Phase
    segment: int
    phase_began_s: float
    names: Mapping[int, str] = field(default_factory=dict)  # of requests that others name, by their place in the phase

    def position(self, request_id: str, load_id: str, sequence: int, stream: int) -> RequestPosition:
        """Return the position of a request in its load, for its record; `sequence` counts within the phase, from 0."""
        return RequestPosition(
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


def _has_order(requests: Sequence[PlannedRequest]) -> bool:
    """Whether requests wait for others, or are named by them in what is stored of their prompts."""
    return any(request.waits_for or request.replayed for request in requests)


def may_be_passed_on(request: PlannedRequest) -> bool:
    """Whether another process may send the request: its answer is only measured."""
    is_answer_needed = request.replayed is not None and request.replayed.is_answer_needed
    return request.case is None and request.probe is None and not is_answer_needed


@dataclass
class Runner:
    """Executes a plan and the phases that follow from its measurements.

    SIGTERM and SIGINT cancel it, SIGUSR1 pauses it after the requests in flight, SIGUSR2 resumes it.
    """

    job: LoadJob
    workload: Workload
    params: Params
    target: RequestTarget
    book: LoadBook
    records: list[RequestRecord] = field(default_factory=list)
    in_flight: set[asyncio.Task[Exchange]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plan: Plan = self.workload.build(self.params)
        self.pace = Pace(self.job, self.plan, self.target.mono_s, self.target.utc_now)
        self.names: Iterator[str] = (f"{self.book.load_id}-{number:04d}" for number in itertools.count())
        self.pool = SenderPool(self.target, self.job.client_processes)
        self.loops = LoopWatch(lambda onsets: self.pace.note_loops(sorted([*onsets, *self.pool.onsets()])))

    async def run(self) -> int:
        """Send everything planned; returns the exit code. Raises OSError if results cannot be written."""
        self._install_signal_handlers()
        self.book.begin(self.plan, self.workload.is_adaptive)
        async with open_session() as session, self.pool.running(), self.loops.running():
            fitter, probe_fitter = Fitter(session, self.target), ProbeFitter(session, self.target)
            self.replay_texts = ReplayTexts(session, self.target)
            for index, phase in enumerate(self._phases()):
                self.pace.start_phase(phase)
                fitted_phase = await probe_fitter.fit(await fitter.fit(phase))
                await self.replay_texts.prepare(fitted_phase)
                self.pace.replace_phase(phase, fitted_phase)
                await self._run_phase(session, index, fitted_phase)
        await self.book.start_segment()
        workload_results = self.workload.conclude(self.params, self.book.load_id, self.target.utc_now(), self.records)
        self.book.write_results(self.records, workload_results)
        self.pace.end()
        was_reached = self.pace.is_cancelled or any(record.http_status for record in self.records)
        return EXIT_DONE if was_reached else EXIT_UNREACHABLE

    def _phases(self) -> Iterator[Phase]:
        """Yield the phases of the plan, then those that follow from the measurements."""
        yield from self.plan
        while not self.pace.is_cancelled and (phase := self.workload.next_phase(self.params, self.records)):
            self.pace.add_phase(phase)
            yield phase

    async def _run_phase(self, session: aiohttp.ClientSession, index: int, phase: Phase) -> None:
        """Run the phase's segments one after the other; counters are read before each, while nothing is in flight."""
        began_at, began_s, paused_s = self.target.utc_now(), self.target.mono_s(), self.pace.paused_s
        cpu_s = self.pool.cpu_s()
        sequence = itertools.count()
        for segment in phase.segments():
            await self.book.start_segment()
            names = dict(zip(range(len(segment)), self.names, strict=False)) if _has_order(segment) else {}
            context = SegmentContext(index, phase, self.book.segment, began_s, names)
            threads = group_by_thread(zip(sequence, segment, strict=False))
            if names:
                await self._run_in_order(session, context, segment)
            elif phase.concurrency == AS_THEY_ARRIVE:
                await self._run_scheduled(session, context, threads)
            else:
                streams = range(phase.concurrency)
                await asyncio.gather(*(self._run_stream(session, context, threads, stream) for stream in streams))
        duration_s = self.target.mono_s() - began_s
        paused_s = self.pace.paused_s - paused_s
        cpu_used_s, is_complete = self.pool.cpu_s() - cpu_s, not self.pace.is_cancelled
        self.book.end_phase(index, phase, began_at, duration_s, paused_s, is_complete, cpu_used_s, self.pool.count)

    async def _run_stream(
        self, session: aiohttp.ClientSession, context: SegmentContext, threads: Iterator[list[Numbered]], stream: int
    ) -> None:
        """Send waiting requests one after the other, until none is left, the phase is over or the load is cancelled."""
        for thread in threads:
            for sequence, request in thread:
                await self.pace.wait(request.think_s)
                if self._is_over(context):
                    return
                await self._run_request(session, context, request, sequence, stream)

    async def _run_scheduled(
        self, session: aiohttp.ClientSession, context: SegmentContext, threads: Iterator[list[Numbered]]
    ) -> None:
        """Send each request at its time, however many are in flight; a pause delays all later ones."""
        paused_s = self.pace.paused_s
        async with asyncio.TaskGroup() as tasks:
            for sequence, request in itertools.chain.from_iterable(threads):
                due_s = context.phase_began_s + (request.sent_after_s or 0.0) + self.pace.paused_s - paused_s
                await self.pace.wait(due_s - self.target.mono_s())
                if self._is_over(context):
                    return
                tasks.create_task(self._run_request(session, context, request, sequence, sequence))

    async def _run_in_order(
        self, session: aiohttp.ClientSession, context: SegmentContext, requests: Sequence[PlannedRequest]
    ) -> None:
        """Send each request after the ends of those that it waits for and its pause, and not before its time."""
        ends = [asyncio.Event() for _ in requests]
        paused_s = self.pace.paused_s

        async def run(sequence: int, request: PlannedRequest) -> None:
            try:
                for place in request.waits_for:
                    await ends[place].wait()
                due_s = context.phase_began_s + (request.sent_after_s or 0.0) + self.pace.paused_s - paused_s
                await self.pace.wait(max(request.think_s, due_s - self.target.mono_s()))
                if not self._is_over(context):
                    await self._run_request(session, context, request, sequence, sequence)
            finally:
                ends[sequence].set()

        async with asyncio.TaskGroup() as tasks:
            for sequence, request in enumerate(requests):
                tasks.create_task(run(sequence, request))

    def _is_over(self, context: SegmentContext) -> bool:
        limit_s = context.phase.limit_s
        is_late = limit_s is not None and self.target.mono_s() - context.phase_began_s >= limit_s
        return self.pace.is_cancelled or is_late

    async def _run_request(
        self,
        session: aiohttp.ClientSession,
        context: SegmentContext,
        request: PlannedRequest,
        sequence: int,
        stream: int,
    ) -> None:
        """Send a request; if it starts a case, also the requests that follow from the answers, then judge the case."""
        exchanges: list[Exchange] = []
        next_request: PlannedRequest | None = request
        while next_request and not self.pace.is_cancelled:
            if exchanges:
                self.pace.add_request(next_request)
            if (completed := await self._send(session, context, next_request, sequence, stream)) is not None:
                exchanges.append(completed)
            next_request = request.case.follow(exchanges) if request.case and exchanges else None
        if request.case and exchanges and not self.pace.is_cancelled:
            now = self.target.utc_now()
            self.book.write_check(check_of(request, request.case, exchanges, self.job, self.book.load_id, now))

    async def _send(
        self,
        session: aiohttp.ClientSession,
        context: SegmentContext,
        request: PlannedRequest,
        sequence: int,
        stream: int,
    ) -> Exchange | None:
        """Send and record a request; returns None if it was cancelled before sending, or another process sent it."""
        name = context.names.get(sequence) or next(self.names)
        position = context.position(name, self.book.load_id, sequence, stream)
        planned, preface = request, self._preface(context, request, name)
        if request.replayed:
            request, preface = await self.replay_texts.compose(request, preface, context.names), ""
        if may_be_passed_on(request) and (sender := self.pool.least_busy()):
            self._record(await self.pool.send(sender, request, position, preface), request)
            return None
        reading = new_reading(self.target, request)
        task = asyncio.create_task(exchange(session, self.target, request, preface, reading))
        self.in_flight.add(task)
        self.pool.own_requests += 1
        try:
            with self.loops.watching(reading):
                completed = await task
        except asyncio.CancelledError:
            return None
        finally:
            self.in_flight.discard(task)
            self.pool.own_requests -= 1
        self._record(await asyncio.to_thread(record_of, self.target, request, position, completed), request)
        self._record_answer(request, completed)
        self.replay_texts.note_answer(planned, "".join(completed.reading.text))
        return completed

    def _preface(self, context: SegmentContext, request: PlannedRequest, name: str) -> str:
        """Return the words before a prompt that no prefix cache has; those of a cold start are in its chat's cache."""
        if self.params.prefix_cache == "cold":
            return f"({name}) "
        if self.params.prefix_cache == "cold start":
            chat = "" if request.thread is None else f"-{request.thread}"
            return f"({self.book.load_id}-{context.phase_index}{chat}) "
        return ""

    def _record_answer(self, request: PlannedRequest, completed: Exchange) -> None:
        """Write the tokens that answer a probe."""
        reading = completed.reading
        if request.probe and isinstance(reading, TokenReading) and reading.answer and not completed.error_kind:
            now = self.target.utc_now()
            position = request.probe.position_of(reading.answer, self.job.run_id, self.book.load_id, now)
            if position:
                self.book.write_position(position)

    def _record(self, record: RequestRecord, request: PlannedRequest) -> None:
        append_record(self.job.out, record)
        self.records.append(record)
        self.pace.note_request(record, request)

    def cancel(self) -> None:
        """Send nothing more; requests in flight are recorded as cancelled."""
        self.pace.cancel()
        self.pool.cancel()
        for task in self.in_flight:
            task.cancel()

    def _install_signal_handlers(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.cancel)
        loop.add_signal_handler(signal.SIGUSR1, self.pace.pause)
        loop.add_signal_handler(signal.SIGUSR2, self.pace.resume)
