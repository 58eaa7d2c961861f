"""Writes the records of a load other than its requests: the load, its phases, and the counters between segments."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

from analysis.loads.load_results import results_of
from domain import utc_now
from load_records import FidelityPosition, Load, LoadCounters, LoadPhase, RequestRecord, Result, SuiteCheck
from samples import CounterSample
from settings import VERSION
from workloads.job import LoadJob
from workloads.plan import Params, Phase, Plan
from workloads.requests.records import Line, append_record

TOOL = "pitwall"
CounterReader = Callable[[], Sequence[CounterSample]]
COUNTER_FIELDS = [f.name for f in fields(LoadCounters) if f.name.endswith("_total") or f.name == "requests_running"]


def no_counters() -> Sequence[CounterSample]:
    """Return no samples, for a server without known counters."""
    return ()


@dataclass
class LoadBook:
    """Writes the records of one load; `segment`: index of the current segment."""

    job: LoadJob
    prompt_set_hash: str
    params: Params
    read_counters: CounterReader = no_counters
    utc_now: Callable[[], datetime] = utc_now
    load_id: str = field(default_factory=lambda: secrets.token_hex(4))  # a run may have several loads
    segment: int = -1

    def begin(self, plan: Plan, is_adaptive: bool = False) -> None:
        """Write the load's record; the size of an adaptive workload is not known in advance."""
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

    async def start_segment(self) -> None:
        """Start a new segment and record the counters, while none of the load's requests is in flight."""
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
        """Write the record of a phase."""
        record = LoadPhase(
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
        self._write(record)

    def write_results(self, records: Sequence[RequestRecord], workload_results: Sequence[Result]) -> None:
        """Write the results, also of an interrupted load."""
        for row in (*results_of(self.load_id, self.utc_now(), records), *workload_results):
            self._write(row)

    def write_check(self, check: SuiteCheck) -> None:
        """Write the result of one suite case."""
        self._write(check)

    def write_position(self, position: FidelityPosition) -> None:
        """Write the answer after one prefix of a fidelity load."""
        self._write(position)

    def _counters(self, sample: CounterSample) -> LoadCounters:
        values = {name: getattr(sample, name) for name in COUNTER_FIELDS}
        identity = (self.job.run_id, self.load_id, sample.ts, self.segment, sample.definition, sample.engine_index)
        return LoadCounters(*identity, **values)

    def _write(self, line: Line) -> None:
        append_record(self.job.out, line)
