"""`./pitwall agent`: samples this machine once a second, spools the samples and sends them until the run is over.

One thread samples and spools, another sends. While Pitwall is unreachable the sender waits and sampling goes on.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.base import Clock, CollectorError
from collectors.machine.gpu import GpuCollector, Provider
from collectors.machine.host import HostCollector
from collectors.machine.processes import ProcessTable
from collectors.nodes.link import Acknowledged, AwayError, Link
from collectors.nodes.relation import Relations
from collectors.nodes.spool import Kept, Spool
from collectors.nodes.wire import MOST_BATCHES, MOST_BODY_BYTES, sample_fields
from collectors.plausible import without_impossible
from domain import Run
from samples import Batch, GpuSample, HostSample

EVERY_S = 1.0
GREET_EVERY_S = 15.0  # what clocks drift meanwhile is far less than a round trip
LONGEST_PAUSE_S = 15.0
LAST_TRY_S = 5.0
ROOM_BYTES = MOST_BODY_BYTES * 3 // 4  # of what is kept: what is sent says its clock too
Say = Callable[[str], None]


class NodeLook:
    """This machine at one moment, as samples of the run."""

    def __init__(self, run: Run, provider: Provider, clock: Clock, say: Say) -> None:
        table = ProcessTable()
        self._run = run
        self._say = say
        self._gpus = GpuCollector(run.machine_id, provider, table, clock)
        self._host = HostCollector(run.machine_id, table, clock)
        self._troubles: set[str] = set()

    def __call__(self) -> list[GpuSample | HostSample]:
        """What there is; what is not is said once."""
        looks = (lambda: self._gpus.collect(self._run), self._of_host)
        found = [sample for look in looks for batch in self._tried(look) for sample in batch.samples]
        kept, _ = without_impossible(Batch(tuple(found)))
        return [sample for sample in kept.samples if isinstance(sample, GpuSample | HostSample)]

    def _of_host(self) -> Iterable[Batch]:
        """The named process's tree and the machine, else the machine alone."""
        batches = list(self._host.collect(self._run)) if self._run.pid is not None else []
        return batches or [Batch((self._host.machine_alone(self._run),))]

    def _tried(self, look: Callable[[], Iterable[Batch]]) -> list[Batch]:
        taken: list[Batch] = []
        try:
            taken.extend(look())
        except CollectorError as trouble:
            if str(trouble) not in self._troubles:
                self._troubles.add(str(trouble))
                self._say(f"Not sampled here: {trouble}.")
        return taken


@dataclass(frozen=True, slots=True)
class Node:
    """Which machine this is, and which of its boots."""

    machine_id: str
    host_name: str
    boot_id: str | None


class Agent:
    """`work` until the run is over, `stop` from a signal."""

    def __init__(self, node: Node, spool: Spool, link: Link, look: Callable[[], Sequence[Any]], say: Say) -> None:
        self._node = node
        self._spool = spool
        self._link = link
        self._look = look
        self._say = say
        self._relations = Relations()
        self._stopping = threading.Event()
        self._greeted_s: float | None = None
        self._is_away = False
        self._is_over = False

    def stop(self) -> None:
        """Ask it to end; what it has is still sent."""
        self._stopping.set()

    def work(self) -> bool:
        """Whether the run is over and everything sent. Raises RefusedByPitwallError, SpoolError, OSError."""
        looking = threading.Thread(target=self._keep_looking, name="look", daemon=True)
        self._failure: Exception | None = None
        looking.start()
        try:
            self._keep_sending()
        finally:
            self.stop()
            looking.join(LAST_TRY_S)
        if self._failure:
            raise self._failure
        self._send_the_rest()
        return self._is_over and self._spool.is_empty()

    def _keep_looking(self) -> None:
        due = time.monotonic()
        try:
            while not self._stopping.is_set():
                self._spool.add(_kept(self._look(), self._node.boot_id))
                due = max(due + EVERY_S, time.monotonic())
                self._stopping.wait(due - time.monotonic())
        except Exception as failure:  # reported by the thread that was asked to work
            self._failure = failure
            self.stop()

    def _keep_sending(self) -> None:
        pause_s = EVERY_S
        while not self._stopping.is_set() and not self._is_over:
            try:
                more = self._send_some()
                pause_s = EVERY_S
                self._stopping.wait(0.0 if more else EVERY_S)
            except AwayError as trouble:
                self._note_away(str(trouble))
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    def _send_the_rest(self) -> None:
        """What is kept when the end has come, for a few seconds; what is left then is sent by the next start."""
        end_s = time.monotonic() + LAST_TRY_S
        try:
            while time.monotonic() < end_s and not self._spool.is_empty():
                self._send_some()
        except AwayError as trouble:
            self._note_away(str(trouble))

    def _send_some(self) -> bool:
        """The oldest of what is kept, in one message; whether there is more."""
        if self._greeted_s is None or time.monotonic() - self._greeted_s > GREET_EVERY_S:
            self._hear(self._link.greet())
            self._greeted_s = time.monotonic()
        batches = self._spool.first(MOST_BATCHES, ROOM_BYTES)
        if batches:
            answer = self._link.send(self._message(batches))
            self._spool.forget(min(answer.number, batches[-1].number))
            self._hear(answer)
        return len(batches) > 1 and not self._spool.is_empty()

    def _hear(self, answer: Acknowledged) -> None:
        self._relations.add(answer.trip)
        self._is_over = answer.is_over
        if self._is_away:
            self._is_away = False
            self._say("Pitwall answers again: what was kept is being sent.")

    def _note_away(self, why: str) -> None:
        self._greeted_s = None
        if not self._is_away:
            self._is_away = True
            self._say(f"Pitwall takes nothing now ({why}): samples are kept here meanwhile.")

    def _message(self, batches: Sequence[Kept]) -> bytes:
        message = {
            "agent": self._spool.agent_id,
            "machine": self._node.machine_id,
            "host": self._node.host_name,
            "thinned": self._spool.thinned,
            "batches": [self._related(one) for one in batches],
        }
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()

    def _related(self, kept: Kept) -> dict[str, Any]:
        """A batch with its moments by Pitwall's clock; of another boot by the wall clocks alone."""
        said = json.loads(kept.body)
        now = self._relations.at(time.monotonic())
        assert now is not None, "it has greeted"
        ahead_s = now.t - time.time()
        related = {"number": kept.number, "offset_s": ahead_s, "uncertainty_s": None}
        for sample in (*said["gpus"], *said["hosts"]):
            wall_s = sample.pop("wall_s")
            moment = self._relations.at(sample["mono_s"]) if said["boot"] == self._node.boot_id else None
            sample["t"] = moment.t if moment else wall_s + ahead_s
            if moment:
                related |= {"offset_s": moment.t - wall_s, "uncertainty_s": moment.uncertainty_s}
        return related | {"gpus": said["gpus"], "hosts": said["hosts"]}


def _kept(samples: Sequence[GpuSample | HostSample], boot_id: str | None) -> bytes:
    """A look as it is kept: by this machine's clocks."""
    by_kind = {
        name: [sample_fields(one) | {"wall_s": one.ts.timestamp()} for one in samples if isinstance(one, kind)]
        for name, kind in (("gpus", GpuSample), ("hosts", HostSample))
    }
    return json.dumps({"boot": boot_id} | by_kind, separators=(",", ":"), allow_nan=False).encode()
