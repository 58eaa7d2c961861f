"""The services of this process, as app.py composed them, for the pages to use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from collectors.loop import Freshness
from launcher.runs.supervisor import Supervisor
from reports.cache.run_cache import EvidenceCache, ReportCache
from service.agents import AgentIntake
from service.fleet import Fleet
from service.lake_shipping import LakeShipping
from service.notifications.notifier import Notifier
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.lake.client import LakeSandbox
from storage.store import Store
from studies.runner import StudyRunner
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TokenBook
from web.live.hub import LiveHub
from web.live.peers.relay import PeerRelay
from web.sql.history import QueryHistory


@dataclass(frozen=True)
class Services:
    """Everything that lives as long as the process; created once by app.py, never by a page."""

    settings: Settings
    store: Store
    supervisor: Supervisor
    studies: StudyRunner
    hub: LiveHub
    shares: ShareBook
    sessions: SessionBook
    tokens: TokenBook
    sandbox: Sandbox
    intake: AgentIntake
    peer_relay: PeerRelay
    reports: ReportCache
    evidence: EvidenceCache
    sql_history: QueryHistory = field(default_factory=QueryHistory)
    shipping: LakeShipping | None = None
    notifier: Notifier | None = None
    fleet: Fleet | None = None  # other machines' runs
    lake_sandbox: LakeSandbox | None = None  # SQL over those
    freshness: Callable[[], Sequence[Freshness]] = tuple  # of each live run's collection


_provided: list[Services] = []


def provide(services: Services | None) -> None:
    """Set the services of this process, or remove them at its end."""
    _provided.clear()
    if services is not None:
        _provided.append(services)


@contextmanager
def provided_services(services: Services) -> Iterator[None]:
    """Set the services for a `with` block and restore the previous ones after it, such as in a test."""
    previous = list(_provided)
    _provided[:] = [services]
    try:
        yield
    finally:
        _provided[:] = previous


def services() -> Services:
    """Return the services. Raises RuntimeError if a page runs without app.py."""
    if not _provided:
        raise RuntimeError("Pitwall's services are not running: start Pitwall with `make run` or `./pitwall run`")
    return _provided[0]
