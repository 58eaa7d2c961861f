"""Opens and closes together what works without a page: store, launcher, collectors, inbox and studies.

`./pitwall run` and `./pitwall study run` share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from collectors.base import Clock
from collectors.forward_clock import forward_clock
from collectors.imports.inbox import inbox_folder
from collectors.logs.failure_cause import failure_of
from collectors.loop import CollectorLoop
from collectors.machine.gpu_now import look_at_gpus
from collectors.standard import standard_collectors
from engines import all_definitions
from launcher.remote.hosts import HostBook
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from machine.regular_file import follow_own
from reports.runs.ended import EndedReports
from samples import Batch, Event
from service.closing import Opened
from service.inbox import inbox_of
from service.lake_shipping import LakeShipping
from service.run_lines import Prepare, RunLineKeeper
from service.this_machine import record_this_machine
from settings import Settings
from storage.store import Store
from studies.runner import StudyRunner
from workloads import spec_for
from workloads.process.prepare import prepare_workload

STOP_TIMEOUT_S = 2.0
INBOX_TIMEOUT_S = 0.5  # an import that takes longer goes on at the next start
STUDIES_TIMEOUT_S = 1.0
SHIPPING_TIMEOUT_S = 0.5  # a commit that takes longer is looked up by the next start


@dataclass(frozen=True)
class Core:
    """The opened services."""

    store: Store
    supervisor: Supervisor
    loop: CollectorLoop
    studies: StudyRunner
    shipping: LakeShipping
    clock: Clock  # of all samples


@contextmanager
def opened_core(
    settings: Settings,
    prepare: Callable[[Store], None] = lambda store: None,
    reports: EndedReports | None = None,
    drawn: Sequence[Prepare] = (),
) -> Iterator[Core]:
    """Open everything in order, close it in reverse; `prepare(store)` is called before anything works.

    A part that cannot be opened raises what it raises, and those before it are closed.

    reports, drawn: what is known of runs that have ended, kept for those who ask later.
    Raises StoreError, StoreInUseError where another Pitwall owns the store.
    """
    follow_own(settings.data_dir)
    with Opened() as opened:
        store = Store.open(settings)
        opened.close_later("the store", store.close)
        store.set_definitions(all_definitions())
        prepare(store)
        record_this_machine(store, settings.published_url)
        clock = forward_clock()
        supervisor, loop = _runs_at_work(store, settings, clock, opened)
        _at_work("the inbox", inbox_of(store, settings), opened, INBOX_TIMEOUT_S)
        _at_work("the keeper of run lines", RunLineKeeper(store, reports, drawn), opened)
        studies = StudyRunner(store, supervisor, inbox_folder(settings.data_dir), spec_for)
        _at_work("the studies", studies, opened, STUDIES_TIMEOUT_S)
        shipping = LakeShipping(settings, store)
        _at_work("the shipping to the lake", shipping, opened, SHIPPING_TIMEOUT_S)
        yield Core(store, supervisor, loop, studies, shipping, clock)


class _Part(Protocol):
    def start(self) -> None: ...

    @property
    def close(self) -> Callable[..., None]: ...


def _at_work(name: str, part: _Part, opened: Opened, *timeout_s: float) -> None:
    """Start a part, and close it before what was started earlier."""
    part.start()
    opened.close_later(name, part.close, *timeout_s)


def _runs_at_work(store: Store, settings: Settings, clock: Clock, opened: Opened) -> tuple[Supervisor, CollectorLoop]:
    """What launches and what collects; runs that are under way are taken up before anything is looked at."""
    supervisor = Supervisor(
        store,
        settings.runs_dir,
        events=store.write,
        ended=lambda run: loop.end(run),
        clock=clock.utc,
        prepare_workload=prepare_workload,
        explain_failure=failure_of,
        gpus=look_at_gpus,
        hosts=HostBook(settings.hosts_path),
        save_machine=store.save_machine,
    )
    loop = CollectorLoop(
        lambda batch: take(store, supervisor, batch),
        supervisor.live_runs,
        standard_collectors(machine_id(), store.tail_position, supervisor.api_key, clock),
        clock,
    )
    opened.close_later("the collectors", loop.stop, STOP_TIMEOUT_S)
    opened.close_later("the launcher", supervisor.close)
    supervisor.adopt_all()  # both may have threads from now on
    loop.start()
    supervisor.start()
    return supervisor, loop


def take(store: Store, supervisor: Supervisor, batch: Batch) -> Future[None]:
    """What the collectors bring goes to the store; the phase and the facts of a log, to the run that starts."""
    for event in batch.samples:
        if isinstance(event, Event) and event.kind == "phase":
            supervisor.set_phase(event.run_id, event.text)
        elif isinstance(event, Event) and event.kind == "startup":
            supervisor.note_fact(event.run_id, event.data["key"], event.data["value"])
    return store.write(batch)
