"""Stores batches from agents on other machines exactly once: a batch's number is committed with its samples."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from collectors.agents.wire import READER_FIELDS, NodeBatch, NodeMessage, RefusedError, read_message
from domain import Run, utc_now
from errors import PitwallError
from machine.identity import machine_id
from redaction import mask_text
from samples import AgentPosition, Batch, Event, GpuSample, HostSample
from storage.store import Store

WAIT_S = 10.0  # for a commit, and for another message of the same agent
LOCKS = 64
MAX_AGENTS = 200  # per run, including restarted agents
MAX_AHEAD = timedelta(seconds=60)
MAX_BEFORE = timedelta(seconds=5)
OWN_MACHINE = "This is the machine of the run's server, which its own Pitwall samples."
OTHER_MACHINE = "This agent id belongs to another machine: use a separate buffer on each machine."
TOO_MANY = f"{MAX_AGENTS} agents have already sent samples of this run."


class BusyError(PitwallError):
    """The message was not accepted now; send it again later."""


class GoneError(PitwallError):
    """The run does not exist."""


@dataclass(frozen=True, slots=True)
class IntakePosition:
    """The last durable batch of an agent, and whether the run has ended."""

    number: int
    is_over: bool


class AgentIntake:
    """Stores agents' messages, one at a time per agent; thread-safe."""

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self._store = store
        self._clock = clock
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        self._pending: dict[tuple[str, str], Future[None]] = {}  # submitted to the store, not known to be durable

    def now_s(self) -> float:
        """Pitwall's time in epoch seconds, the clock of all samples."""
        return self._clock().timestamp()

    def position(self, run_id: str, agent_id: str) -> IntakePosition:
        """Return an agent's position; raises GoneError."""
        run = self._run(run_id)
        stored = self._store.agent_position(run_id, agent_id)
        return IntakePosition(stored.number if stored else 0, run.state.is_final)

    def store_message(self, run_id: str, body: bytes) -> IntakePosition:
        """Store a message, durable on return; batches stored before are skipped.

        Raises RefusedError, BusyError, GoneError.
        """
        message = read_message(body, run_id)
        with self._locked(run_id, message.agent_id) as key:
            run = self._run(run_id)
            position = self._store.agent_position(run_id, message.agent_id)
            self._check(run, message, position)
            new_batches = [batch for batch in message.batches if batch.number > (position.number if position else 0)]
            numbers = [batch.number for batch in message.batches]
            if numbers != sorted(set(numbers)):
                raise RefusedError("Batches must be in ascending order, without duplicates.")
            if new_batches:
                self._commit(key, self._batch(run, message, new_batches, position))
            return IntakePosition(
                new_batches[-1].number if new_batches else position.number if position else 0, run.state.is_final
            )

    @contextmanager
    def _locked(self, run_id: str, agent_id: str) -> Iterator[tuple[str, str]]:
        """Lock an agent, after its earlier message has been committed or failed."""
        key = run_id, agent_id
        lock = self._locks[hash(key) % LOCKS]  # a fixed number, whatever ids agents use
        if not lock.acquire(timeout=WAIT_S):
            raise BusyError("An earlier message of this agent is still being processed.")
        try:
            self._await(key)
            yield key
        finally:
            lock.release()

    def _commit(self, key: tuple[str, str], batch: Batch) -> None:
        if not self._store.health().is_storing:
            raise BusyError("The store cannot write now.")
        self._pending[key] = self._store.write(batch)
        self._await(key)

    def _await(self, key: tuple[str, str]) -> None:
        """Wait for the outcome of the submitted message; only then is the stored position final."""
        future = self._pending.get(key)
        if future is None:
            return
        if not wait([future], WAIT_S).done:
            raise BusyError("The store has not committed it yet.")
        del self._pending[key]
        if future.exception() is not None:
            raise BusyError("The store failed to commit it.")

    def _run(self, run_id: str) -> Run:
        run = self._store.run(run_id)
        if run is None:
            raise GoneError(f"There is no run {run_id}.")
        return run

    def _check(self, run: Run, message: NodeMessage, position: AgentPosition | None) -> None:
        is_sampled_here = run.on_host is None or run.machine_id == machine_id()
        if message.machine_id == run.machine_id and is_sampled_here:
            raise RefusedError(OWN_MACHINE)
        if position and position.machine_id != message.machine_id:
            raise RefusedError(OTHER_MACHINE)
        if position is None and self._store.count_agents(run.id) >= MAX_AGENTS:
            raise RefusedError(TOO_MANY)

    def _batch(
        self, run: Run, message: NodeMessage, new_batches: list[NodeBatch], previous: AgentPosition | None
    ) -> Batch:
        """The rows to commit: samples within the run's time, the position, and an event for dropped samples."""
        now, host_name = self._clock(), mask_text(message.host_name)
        # Dropped, not refused: an agent whose clock was changed would resend them forever.
        begin, end = run.created_at - MAX_BEFORE, min(run.ended_at or now + MAX_AHEAD, now + MAX_AHEAD)
        samples = [_masked(sample) for batch in new_batches for sample in _samples(batch) if begin <= sample.ts <= end]
        position = AgentPosition(
            run.id, message.agent_id, message.machine_id, host_name, new_batches[-1].number, message.thinned, now
        )
        return Batch((*samples, *_thinned_event(position, previous)), (position,))


def _samples(batch: NodeBatch) -> tuple[GpuSample | HostSample, ...]:
    return (*batch.gpus, *batch.hosts)


def _masked(sample: GpuSample | HostSample) -> GpuSample | HostSample:
    """The sample with secrets masked in its texts, which come from another machine."""
    values = {field.name: getattr(sample, field.name) for field in fields(sample) if field.name not in READER_FIELDS}
    texts: dict[str, Any] = {name: mask_text(value) for name, value in values.items() if isinstance(value, str)}
    return replace(
        sample, **texts, unknown={mask_text(name): mask_text(reason) for name, reason in sample.unknown.items()}
    )


def _thinned_event(position: AgentPosition, previous: AgentPosition | None) -> list[Event]:
    """An event if the agent dropped samples since the last message."""
    thinned = position.thinned - (previous.thinned if previous else 0)
    if thinned <= 0:
        return []
    reason = "its buffer was full while Pitwall was unreachable"
    text = f"{position.host_name} dropped {thinned:,} readings, oldest first: {reason}"
    return [
        Event(
            position.run_id,
            position.seen_at,
            "collector",
            text,
            data={"collector": "agent", "machine_id": position.machine_id},
        )
    ]
