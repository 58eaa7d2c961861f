"""`./pitwall agent`: samples this machine once a second, spools the samples and sends them until the run has ended.

One thread samples and spools, another sends. While Pitwall is unreachable, the sender waits and sampling continues.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.agents.clock_offset import ClockRelations
from collectors.agents.link import Acknowledgement, AwayError, Link
from collectors.agents.spool import Spool, SpooledBatch
from collectors.agents.wire import MAX_BATCHES, MAX_BODY_BYTES, sample_fields
from collectors.base import Clock, CollectorError
from collectors.machine.gpu import GpuCollector, Provider
from collectors.machine.host import HostCollector
from collectors.machine.processes import ProcessTable
from collectors.value_limits import without_impossible
from domain import Run
from samples import Batch, GpuSample, HostSample

SAMPLE_EVERY_S = 1.0
GREET_EVERY_S = 15.0  # clock drift in this time is far less than a round trip
LONGEST_PAUSE_S = 15.0
LAST_TRY_S = 5.0
MAX_BATCH_BYTES = MAX_BODY_BYTES * 3 // 4  # as spooled; a sent batch also has clock fields
Report = Callable[[str], None]


class NodeSampler:
    """Samples this machine for a run."""

    def __init__(self, run: Run, provider: Provider, clock: Clock, report: Report) -> None:
        table = ProcessTable()
        self._run = run
        self._report = report
        self._gpus = GpuCollector(run.machine_id, provider, table, clock)
        self._host = HostCollector(run.machine_id, table, clock)
        self._troubles: set[str] = set()

    def __call__(self) -> list[GpuSample | HostSample]:
        """Return the GPU and host samples; reports once what cannot be sampled."""
        collectors = (lambda: self._gpus.collect(self._run), self._collect_host)
        samples = [sample for collect in collectors for batch in self._try_collect(collect) for sample in batch.samples]
        cleaned, _ = without_impossible(Batch(tuple(samples)))
        return [sample for sample in cleaned.samples if isinstance(sample, GpuSample | HostSample)]

    def _collect_host(self) -> Iterable[Batch]:
        """Return the sample of the server's process tree and the machine, or of the machine alone."""
        batches = list(self._host.collect(self._run)) if self._run.pid is not None else []
        return batches or [Batch((self._host.machine_alone(self._run),))]

    def _try_collect(self, collect: Callable[[], Iterable[Batch]]) -> list[Batch]:
        batches: list[Batch] = []
        try:
            batches.extend(collect())
        except CollectorError as trouble:
            if str(trouble) not in self._troubles:
                self._troubles.add(str(trouble))
                self._report(f"Not sampled here: {trouble}.")
        return batches


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Ids of the agent's machine and of its boot."""

    machine_id: str
    host_name: str
    boot_id: str | None


class Agent:
    """Agent process: `work` returns when the run has ended; another thread may call `stop`."""

    def __init__(
        self, node: NodeIdentity, spool: Spool, link: Link, sample: Callable[[], Sequence[Any]], report: Report
    ) -> None:
        self._node = node
        self._spool = spool
        self._link = link
        self._sample = sample
        self._report = report
        self._relations = ClockRelations()
        self._stopping = threading.Event()
        self._greeted_s: float | None = None
        self._is_away = False
        self._is_over = False

    def stop(self) -> None:
        """Ask the agent to end; spooled samples are still sent. A signal handler must not call this."""
        self._stopping.set()

    def work(self) -> bool:
        """Sample and send; returns whether the run has ended and everything was sent.

        Raises RefusedByPitwallError, SpoolError, OSError.
        """
        sampling_thread = threading.Thread(target=self._sample_loop, name="look", daemon=True)
        self._failure: Exception | None = None
        sampling_thread.start()
        try:
            self._send_loop()
        finally:
            self.stop()
            sampling_thread.join(LAST_TRY_S)
        if self._failure:
            raise self._failure
        self._send_remaining()
        return self._is_over and self._spool.is_empty()

    def _sample_loop(self) -> None:
        due = time.monotonic()
        try:
            while not self._stopping.is_set():
                self._spool.add(encode_samples(self._sample(), self._node.boot_id))
                due = max(due + SAMPLE_EVERY_S, time.monotonic())
                self._stopping.wait(due - time.monotonic())
        except Exception as failure:  # raised again in `work`
            self._failure = failure
            self.stop()

    def _send_loop(self) -> None:
        pause_s = SAMPLE_EVERY_S
        while not self._stopping.is_set() and not self._is_over:
            try:
                has_more = self._send_batches()
                pause_s = SAMPLE_EVERY_S
                self._stopping.wait(0.0 if has_more else SAMPLE_EVERY_S)
            except AwayError as trouble:
                self._note_away(str(trouble))
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _send_remaining(self) -> None:
        """Send what is still spooled, for a few seconds; the next start sends the remainder."""
        end_s = time.monotonic() + LAST_TRY_S
        try:
            while time.monotonic() < end_s and not self._spool.is_empty():
                self._send_batches()
        except AwayError as trouble:
            self._note_away(str(trouble))

    def _send_batches(self) -> bool:
        """Send the oldest spooled batches in one message; returns whether more are spooled."""
        if self._greeted_s is None or time.monotonic() - self._greeted_s > GREET_EVERY_S:
            self._apply(self._link.greet())
            self._greeted_s = time.monotonic()
        batches = self._spool.first(MAX_BATCHES, MAX_BATCH_BYTES)
        if batches:
            answer = self._link.send(self._message(batches))
            self._spool.forget(min(answer.number, batches[-1].number))
            self._apply(answer)
        return len(batches) > 1 and not self._spool.is_empty()

    def _apply(self, answer: Acknowledgement) -> None:
        self._relations.add(answer.trip)
        self._is_over = answer.is_over
        if self._is_away:
            self._is_away = False
            self._report("Pitwall answers again: sending the buffered samples.")

    def _note_away(self, reason: str) -> None:
        self._greeted_s = None
        if not self._is_away:
            self._is_away = True
            self._report(f"Pitwall does not accept samples now ({reason}): buffering them on this machine.")

    def _message(self, batches: Sequence[SpooledBatch]) -> bytes:
        message = {
            "agent": self._spool.agent_id,
            "machine": self._node.machine_id,
            "host": self._node.host_name,
            "thinned": self._spool.thinned,
            "batches": [self._with_pitwall_time(batch) for batch in batches],
        }
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()

    def _with_pitwall_time(self, batch: SpooledBatch) -> dict[str, Any]:
        """Return a batch with times by Pitwall's clock; for samples of another boot from the wall clocks alone."""
        measured = json.loads(batch.body)
        now = self._relations.at(time.monotonic())
        assert now is not None, "it has greeted"
        ahead_s = now.t - time.time()
        sent_batch = {"number": batch.number, "offset_s": ahead_s, "uncertainty_s": None}
        for sample in (*measured["gpus"], *measured["hosts"]):
            wall_s = sample.pop("wall_s")
            pitwall_time = self._relations.at(sample["mono_s"]) if measured["boot"] == self._node.boot_id else None
            sample["t"] = pitwall_time.t if pitwall_time else wall_s + ahead_s
            if pitwall_time:
                sent_batch |= {"offset_s": pitwall_time.t - wall_s, "uncertainty_s": pitwall_time.uncertainty_s}
        return sent_batch | {"gpus": measured["gpus"], "hosts": measured["hosts"]}


def encode_samples(samples: Sequence[GpuSample | HostSample], boot_id: str | None) -> bytes:
    """Return samples in the spool's format, timed by this machine's clocks."""
    by_kind = {
        name: [
            sample_fields(sample) | {"wall_s": sample.ts.timestamp()} for sample in samples if isinstance(sample, kind)
        ]
        for name, kind in (("gpus", GpuSample), ("hosts", HostSample))
    }
    return json.dumps({"boot": boot_id} | by_kind, separators=(",", ":"), allow_nan=False).encode()
