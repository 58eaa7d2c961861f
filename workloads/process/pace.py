"""Progress file of a load, and the pauses that the user requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from load_records import RequestRecord
from workloads.job import LoadJob, LoadProgress, write_progress
from workloads.plan import Phase, Plan, PlannedRequest


class Pace:
    """Progress and pauses of one load; writes the progress file at every change. Uses the runner's monotonic clock."""

    def __init__(self, job: LoadJob, plan: Plan, mono_s: Callable[[], float], utc_now: Callable[[], datetime]) -> None:
        self._job, self._mono_s, self._utc_now = job, mono_s, utc_now
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._phase: Phase | None = None
        self._began_s = self._paused_at_s = mono_s()
        self.paused_s = 0.0
        self.is_cancelled = False
        self._cancelled = asyncio.Event()
        self._requests = self._tokens = 0  # planned
        self._ended_requests = self._failed_requests = 0
        self._ended_tokens = 0  # planned tokens of the requests that have ended
        self._received_tokens = 0
        self._onsets: Sequence[int] = ()
        for phase in plan:
            self._count(phase)

    def add_phase(self, phase: Phase) -> None:
        """Add a phase that was not in the plan."""
        self._count(phase)

    def replace_phase(self, planned: Phase, fitted: Phase) -> None:
        """Count a phase as it will be sent, if some of its requests do not fit the server."""
        self._requests += len(fitted.requests) - len(planned.requests)
        self._tokens += sum(r.max_tokens for r in fitted.requests) - sum(r.max_tokens for r in planned.requests)

    def add_request(self, request: PlannedRequest) -> None:
        """Add a request that was not in the plan."""
        self._requests += 1
        self._tokens += request.max_tokens

    def _count(self, phase: Phase) -> None:
        for request in phase.requests:
            self.add_request(request)

    def start_phase(self, phase: Phase) -> None:
        """Set the current phase."""
        self._phase = phase
        self._report("running")

    def note_request(self, record: RequestRecord, request: PlannedRequest) -> None:
        """Count a request that has ended."""
        self._ended_requests += 1
        self._failed_requests += record.error_kind is not None
        self._ended_tokens += request.max_tokens
        self._received_tokens += record.completion_tokens or 0
        self._report("running")

    def note_loops(self, onsets: Sequence[int]) -> None:
        """Set the first looped word of each stream that loops now."""
        self._onsets = onsets
        self._report("running")

    def end(self) -> None:
        """Report the end of the load."""
        self._phase, self._onsets = None, ()
        self._report("cancelled" if self.is_cancelled else "done")

    async def wait(self, seconds: float) -> None:
        """Wait for this time, and until the load is not paused; a cancelled load waits no longer."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._cancelled.wait(), seconds)
        await self._may_send.wait()

    def cancel(self) -> None:
        """Send nothing more."""
        self.is_cancelled = True
        self._cancelled.set()
        self._may_send.set()

    def pause(self) -> None:
        """Send nothing until `resume`; requests in flight continue."""
        if self._may_send.is_set():
            self._paused_at_s = self._mono_s()
        self._may_send.clear()
        self._report("paused")

    def resume(self) -> None:
        """Continue sending after a pause."""
        if not self._may_send.is_set():
            self.paused_s += self._mono_s() - self._paused_at_s
        self._may_send.set()
        self._report("running")

    def _report(self, state: str) -> None:
        """Write the progress; the remaining time assumes the pace so far, without pauses."""
        elapsed_s = self._mono_s() - self._began_s - self.paused_s
        remaining_tokens = self._tokens - self._ended_tokens
        progress = LoadProgress(
            run_id=self._job.run_id,
            workload=self._job.workload,
            state=state if self._may_send.is_set() else "paused",
            phase=self._phase.title if self._phase else None,
            done=self._ended_requests,
            total=self._requests,
            errors=self._failed_requests,
            output_tokens=self._received_tokens,
            looping=len(self._onsets),
            looping_since_word=min(self._onsets, default=None),
            remaining_s=round(elapsed_s * remaining_tokens / self._ended_tokens, 1) if self._ended_tokens else None,
            updated_at=self._utc_now().isoformat(),
        )
        write_progress(self._job.progress, progress)
