"""A load's progress file, and the pauses that a person requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from load_records import RequestRecord
from workloads.plan import Phase, Plan, PlannedRequest
from workloads.process.job import Job, Progress, write_progress


class Pace:
    """Kept by the runner; writes the progress file at every change. Times are of its monotonic clock in seconds."""

    def __init__(self, job: Job, plan: Plan, mono_s: Callable[[], float], utc_now: Callable[[], datetime]) -> None:
        self._job, self._mono_s, self._utc_now = job, mono_s, utc_now
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._phase: Phase | None = None
        self._began_s = self._paused_at_s = mono_s()
        self.paused_s = 0.0
        self.is_cancelled = False
        self._requests = self._tokens = 0  # planned
        self._done = self._errors = 0
        self._tokens_ended = 0  # of the plan, by the limits of the requests that have ended
        self._tokens_received = 0
        self._onsets: Sequence[int] = ()
        for phase in plan:
            self._count(phase)

    def add(self, phase: Phase) -> None:
        """A phase that was not planned follows."""
        self._count(phase)

    def add_request(self, request: PlannedRequest) -> None:
        """A request that was not planned follows."""
        self._requests += 1
        self._tokens += request.max_tokens

    def _count(self, phase: Phase) -> None:
        for request in phase.requests:
            self.add_request(request)

    def enter(self, phase: Phase) -> None:
        """A phase begins."""
        self._phase = phase
        self._report("running")

    def note(self, record: RequestRecord, request: PlannedRequest) -> None:
        """A request has ended."""
        self._done += 1
        self._errors += record.error_kind is not None
        self._tokens_ended += request.max_tokens
        self._tokens_received += record.completion_tokens or 0
        self._report("running")

    def note_loops(self, onsets: Sequence[int]) -> None:
        """So many streams repeat themselves now, each since this word of its text."""
        self._onsets = onsets
        self._report("running")

    def end(self) -> None:
        """The load is over."""
        self._phase, self._onsets = None, ()
        self._report("cancelled" if self.is_cancelled else "done")

    async def wait(self, seconds: float) -> None:
        """Until a request may be sent: after so long, and not while the load is paused."""
        if seconds > 0 and not self.is_cancelled:
            await asyncio.sleep(seconds)
        await self._may_send.wait()

    def cancel(self) -> None:
        """Send nothing more."""
        self.is_cancelled = True
        self._may_send.set()

    def pause(self) -> None:
        """Send nothing until `go_on`; requests that were sent go on."""
        if self._may_send.is_set():
            self._paused_at_s = self._mono_s()
        self._may_send.clear()
        self._report("paused")

    def go_on(self) -> None:
        """Send again after a pause."""
        if not self._may_send.is_set():
            self.paused_s += self._mono_s() - self._paused_at_s
        self._may_send.set()
        self._report("running")

    def _report(self, state: str) -> None:
        """The estimate takes the pace so far, pauses aside, for all that is still planned."""
        elapsed_s = self._mono_s() - self._began_s - self.paused_s
        left = self._tokens - self._tokens_ended
        progress = Progress(
            run_id=self._job.run_id,
            workload=self._job.workload,
            state=state if self._may_send.is_set() else "paused",
            phase=self._phase.title if self._phase else None,
            done=self._done,
            total=self._requests,
            errors=self._errors,
            output_tokens=self._tokens_received,
            looping=len(self._onsets),
            looping_since_word=min(self._onsets, default=None),
            remaining_s=round(elapsed_s * left / self._tokens_ended, 1) if self._tokens_ended else None,
            updated_at=self._utc_now().isoformat(),
        )
        write_progress(self._job.progress, progress)
