"""Records of a load besides its requests: what was asked, how its phases went, and the counters between them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

from analysis.loads.load_results import results_of
from domain import utc_now
from load_records import Check, Load, LoadCounters, LoadPhase, RequestRecord, Result
from samples import CounterSample
from settings import VERSION
from workloads.plan import Params, Phase, Plan
from workloads.process.job import Job
from workloads.requests.records import Line, append_record

TOOL = "pitwall"
CounterLook = Callable[[], Sequence[CounterSample]]
COPIED = [f.name for f in fields(LoadCounters) if f.name.endswith("_total") or f.name == "requests_running"]


def no_counters() -> Sequence[CounterSample]:
    """For a server of which no counters are known."""
    return ()


@dataclass
class LoadBook:
    """Writes the lines of one load; `segment` is the number of the stretch that the last look stands before."""

    job: Job
    prompt_set_hash: str
    params: Params
    read_counters: CounterLook = no_counters
    utc_now: Callable[[], datetime] = utc_now
    load_id: str = field(default_factory=lambda: secrets.token_hex(4))  # a run may have several loads
    segment: int = -1

    def begin(self, plan: Plan, is_adaptive: bool = False) -> None:
        """What was asked; how much an adaptive workload will send is not known."""
        measured = sum(len(phase.requests) for phase in plan if phase.kind == "measure")
        load = Load(
            run_id=self.job.run_id,
            load_id=self.load_id,
            ts=self.utc_now(),
            tool=TOOL,
            workload=self.job.workload,
            tool_version=VERSION,
            prompt_set_hash=self.prompt_set_hash,
            params=self.params.model_dump(mode="json"),
            planned_requests=None if is_adaptive else measured,
            planned_phases=None if is_adaptive else len(plan),
        )
        self._write(load)

    async def look(self) -> None:
        """Read the counters while nothing of ours is in flight; a new segment begins."""
        self.segment += 1
        for sample in await asyncio.to_thread(self.read_counters):
            self._write(self._counters(sample))

    def end_phase(
        self,
        index: int,
        phase: Phase,
        began_at: datetime,
        duration_s: float,
        paused_s: float,
        is_complete: bool,
        client_cpu_s: float | None = None,
        client_processes: int | None = None,
    ) -> None:
        """How a phase went."""
        went = LoadPhase(
            run_id=self.job.run_id,
            load_id=self.load_id,
            ts=self.utc_now(),
            phase_index=index,
            title=phase.title,
            kind=phase.kind,
            concurrency=phase.concurrency,
            began_at=began_at,
            duration_s=round(duration_s, 6),
            paused_s=round(paused_s, 6),
            planned_requests=len(phase.requests),
            is_complete=is_complete,
            client_cpu_s=None if client_cpu_s is None else round(client_cpu_s, 6),
            client_processes=client_processes,
        )
        self._write(went)

    def write_results(self, records: Sequence[RequestRecord], concluded: Sequence[Result]) -> None:
        """What came of it, also where it was broken off."""
        for row in (*results_of(self.load_id, self.utc_now(), records), *concluded):
            self._write(row)

    def write_check(self, check: Check) -> None:
        """What came of one case of a suite."""
        self._write(check)

    def _counters(self, sample: CounterSample) -> LoadCounters:
        values = {name: getattr(sample, name) for name in COPIED}
        named = (self.job.run_id, self.load_id, sample.ts, self.segment, sample.definition, sample.engine_index)
        return LoadCounters(*named, **values)

    def _write(self, line: Line) -> None:
        append_record(self.job.out, line)
