"""Stores what agents on other machines send, exactly once: a batch's number is committed with its samples."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from collectors.nodes.wire import SET_BY_US, NodeBatch, NodeMessage, RefusedError, read_message
from domain import Run, utc_now
from errors import PitwallError
from machine.identity import machine_id
from redaction import mask_text
from samples import AgentPosition, Batch, Event, GpuSample, HostSample
from storage.store import Store

WAIT_S = 10.0  # for a commit, and for another message of the same agent
LOCKS = 64
MOST_AGENTS = 200  # of a run, those that were started anew among them
AHEAD = timedelta(seconds=60)
BEFORE = timedelta(seconds=5)
OWN_MACHINE = "This is the machine of the run's server: its own Pitwall samples it."
OF_ANOTHER = "This agent has sent from another machine before: each has a buffer of its own."
TOO_MANY = f"{MOST_AGENTS} agents have sent samples of this run already."


class BusyError(PitwallError):
    """The message was not accepted now; it may be sent again."""


class GoneError(PitwallError):
    """The run does not exist, or no longer exists."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How much of an agent's data is stored durably, and whether the run still accepts more."""

    number: int
    is_over: bool


class AgentIntake:
    """Safe from any thread. One message of an agent is worked on at a time."""

    def __init__(self, store: Store, clock: Callable[[], datetime] = utc_now) -> None:
        self._store = store
        self._clock = clock
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        self._under_way: dict[tuple[str, str], Future[None]] = {}  # given to the store, and not known to be durable

    def now_s(self) -> float:
        """Pitwall's time, by which all samples go, since the epoch."""
        return self._clock().timestamp()

    def position(self, run_id: str, agent_id: str) -> Taken:
        """Raises GoneError."""
        run = self._run(run_id)
        held = self._store.agent_position(run_id, agent_id)
        return Taken(held.number if held else 0, run.state.is_final)

    def take(self, run_id: str, body: bytes) -> Taken:
        """Store a message, durably when it returns; batches that were stored before are skipped.

        Raises RefusedError, BusyError, GoneError.
        """
        message = read_message(body, run_id)
        with self._alone(run_id, message.agent_id) as key:
            run = self._run(run_id)
            before = self._store.agent_position(run_id, message.agent_id)
            self._check(run, message, before)
            fresh = [one for one in message.batches if one.number > (before.number if before else 0)]
            numbers = [one.number for one in message.batches]
            if numbers != sorted(set(numbers)):
                raise RefusedError("Batches come in the order of their numbers, each once.")
            if fresh:
                self._commit(key, self._batch(run, message, fresh, before))
            return Taken(fresh[-1].number if fresh else before.number if before else 0, run.state.is_final)

    @contextmanager
    def _alone(self, run_id: str, agent_id: str) -> Iterator[tuple[str, str]]:
        """No other message of this agent is under way, nor one that the store has not decided about."""
        key = run_id, agent_id
        lock = self._locks[hash(key) % LOCKS]  # as many as there are, whatever agents call themselves
        if not lock.acquire(timeout=WAIT_S):
            raise BusyError("An earlier message of this agent is being worked on.")
        try:
            self._await(key)
            yield key
        finally:
            lock.release()

    def _commit(self, key: tuple[str, str], batch: Batch) -> None:
        if not self._store.health().is_storing:
            raise BusyError("The store takes nothing now.")
        self._under_way[key] = self._store.write(batch)
        self._await(key)

    def _await(self, key: tuple[str, str]) -> None:
        """Until what was given to the store is decided; only then is its position true."""
        future = self._under_way.get(key)
        if future is None:
            return
        if not wait([future], WAIT_S).done:
            raise BusyError("The store has not taken it yet.")
        del self._under_way[key]
        if future.exception() is not None:
            raise BusyError("The store did not take it.")

    def _run(self, run_id: str) -> Run:
        run = self._store.run(run_id)
        if run is None:
            raise GoneError(f"There is no run {run_id}.")
        return run

    def _check(self, run: Run, message: NodeMessage, before: AgentPosition | None) -> None:
        is_sampled_here = run.on_host is None or run.machine_id == machine_id()
        if message.machine_id == run.machine_id and is_sampled_here:
            raise RefusedError(OWN_MACHINE)
        if before and before.machine_id != message.machine_id:
            raise RefusedError(OF_ANOTHER)
        if before is None and self._store.count_agents(run.id) >= MOST_AGENTS:
            raise RefusedError(TOO_MANY)

    def _batch(self, run: Run, message: NodeMessage, fresh: list[NodeBatch], before: AgentPosition | None) -> Batch:
        """What is stored together: the samples within the run's time, the position, and what is to be reported."""
        now, host_name = self._clock(), mask_text(message.host_name)
        # Left out, not refused: an agent whose clock was set would send the same for ever.
        begin, end = run.created_at - BEFORE, min(run.ended_at or now + AHEAD, now + AHEAD)
        samples = [_masked(one) for batch in fresh for one in _samples(batch) if begin <= one.ts <= end]
        position = AgentPosition(
            run.id, message.agent_id, message.machine_id, host_name, fresh[-1].number, message.thinned, now
        )
        return Batch((*samples, *_left_out(position, before)), (position,))


def _samples(batch: NodeBatch) -> tuple[GpuSample | HostSample, ...]:
    return (*batch.gpus, *batch.hosts)


def _masked(sample: GpuSample | HostSample) -> GpuSample | HostSample:
    """Its words are another machine's."""
    said = {one.name: getattr(sample, one.name) for one in fields(sample) if one.name not in SET_BY_US}
    words: dict[str, Any] = {name: mask_text(word) for name, word in said.items() if isinstance(word, str)}
    return replace(sample, **words, unknown={mask_text(name): mask_text(why) for name, why in sample.unknown.items()})


def _left_out(now: AgentPosition, before: AgentPosition | None) -> list[Event]:
    """That looks were left out, where there are more of them than before."""
    more = now.thinned - (before.thinned if before else 0)
    if more <= 0:
        return []
    text = f"{now.host_name} has left out {more:,} looks, the oldest first: its buffer was full while Pitwall was away"
    return [
        Event(now.run_id, now.seen_at, "collector", text, data={"collector": "agent", "machine_id": now.machine_id})
    ]
