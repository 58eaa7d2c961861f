"""Opens and closes all services without a user interface: store, launcher, collectors, inbox and studies.

Shared by `./pitwall run` and `./pitwall study run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from collectors.base import Clock
from collectors.forward_clock import forward_clock
from collectors.imports.inbox import inbox_folder
from collectors.logs.failure_cause import failure_of
from collectors.loop import CollectorLoop
from collectors.machine.gpu_status import read_gpu_status
from collectors.standard import standard_collectors
from engines import all_definitions
from launcher.remote.hosts import HostBook
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from machine.regular_file import follow_own
from reports.cache.run_cache import ReportCache, RunCache
from samples import Batch, Event
from service.closing import ClosingStack
from service.inbox import inbox_of
from service.lake_shipping import LakeShipping
from service.notifications.notifier import Notifier
from service.run_lines import RunLineKeeper
from service.this_machine import record_this_machine
from settings import Settings
from storage.store import Store
from studies.runner import StudyRunner
from workloads import spec_for
from workloads.process.prepare import prepare_workload

STOP_TIMEOUT_S = 2.0
INBOX_TIMEOUT_S = 0.5  # a longer import continues at the next start
STUDIES_TIMEOUT_S = 1.0
NOTIFIER_TIMEOUT_S = 0.5  # a delivery cut short is repeated after the next start
SHIPPING_TIMEOUT_S = 0.5  # the next start looks up the outcome of a longer commit


@dataclass(frozen=True)
class Core:
    """The opened services."""

    store: Store
    supervisor: Supervisor
    loop: CollectorLoop
    studies: StudyRunner
    shipping: LakeShipping
    notifier: Notifier
    clock: Clock  # of all samples


@contextmanager
def opened_core(
    settings: Settings,
    prepare: Callable[[Store], None] = lambda store: None,
    reports: ReportCache | None = None,
    caches: Sequence[RunCache[Any]] = (),
    open_store: Callable[[Settings], Store] = Store.open,
) -> Iterator[Core]:
    """Open everything in order, close it in reverse; `prepare(store)` is called before any service starts.

    reports, caches: caches of ended runs to fill in the background. Raises StoreError, StoreInUseError if another
    process owns the store, and the errors of services; services opened before are closed.
    """
    follow_own(settings.data_dir)
    with ClosingStack() as stack:
        store = open_store(settings)
        stack.close_later("the store", store.close)
        store.set_definitions(all_definitions())
        prepare(store)
        record_this_machine(store, settings.published_url)
        clock = forward_clock()
        supervisor, loop = _start_runs(store, settings, clock, stack)
        _start("the inbox", inbox_of(store, settings, supervisor.start_load), stack, INBOX_TIMEOUT_S)
        _start("the keeper of run lines", RunLineKeeper(store, reports, caches), stack)
        studies = StudyRunner(store, supervisor, inbox_folder(settings.data_dir), spec_for)
        _start("the studies", studies, stack, STUDIES_TIMEOUT_S)
        shipping = LakeShipping(settings, store)
        _start("the shipping to the lake", shipping, stack, SHIPPING_TIMEOUT_S)
        notifier = Notifier(settings, store)
        _start("the notifications", notifier, stack, NOTIFIER_TIMEOUT_S)
        yield Core(store, supervisor, loop, studies, shipping, notifier, clock)


class _Service(Protocol):
    def start(self) -> None: ...

    @property
    def close(self) -> Callable[..., None]: ...


def _start(name: str, service: _Service, stack: ClosingStack, *timeout_s: float) -> None:
    """Start a service, and register it for closing."""
    service.start()
    stack.close_later(name, service.close, *timeout_s)


def _start_runs(
    store: Store, settings: Settings, clock: Clock, stack: ClosingStack
) -> tuple[Supervisor, CollectorLoop]:
    """Start the launcher and the collectors; live runs are adopted first."""
    supervisor = Supervisor(
        store,
        settings.runs_dir,
        events=store.write,
        ended=lambda run: loop.end(run),
        clock=clock.utc,
        prepare_workload=prepare_workload,
        explain_failure=failure_of,
        gpus=read_gpu_status,
        hosts=HostBook(settings.hosts_path),
        save_machine=store.save_machine,
        next_samples=lambda run_id: loop.next_samples(run_id),
    )
    loop = CollectorLoop(
        lambda batch: store_batch(store, supervisor, batch),
        supervisor.live_runs,
        standard_collectors(machine_id(), store.tail_position, supervisor.api_key, clock),
        clock,
    )
    stack.close_later("the collectors", loop.stop, STOP_TIMEOUT_S)
    stack.close_later("the launcher", supervisor.close)
    supervisor.adopt_all()  # before either starts threads
    loop.start()
    supervisor.start()
    return supervisor, loop


def store_batch(store: Store, supervisor: Supervisor, batch: Batch) -> Future[None]:
    """Write collected samples to the store, and report phases and startup facts to the starting run."""
    for event in batch.samples:
        if isinstance(event, Event) and event.kind == "phase":
            supervisor.set_phase(event.run_id, event.text)
        elif isinstance(event, Event) and event.kind == "startup":
            supervisor.note_fact(event.run_id, event.data["key"], event.data["value"])
    return store.write(batch)
