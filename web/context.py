"""What the pages reach: the one set of services that app.py composed for this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from collectors.loop import Freshness
from launcher.runs.supervisor import Supervisor
from reports.runs.ended import EndedEvidence, EndedReports
from service.agents import AgentIntake
from service.fleet import Fleet
from service.lake_shipping import LakeShipping
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.lake.client import LakeSandbox
from storage.store import Store
from studies.runner import StudyRunner
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TokenBook
from web.live.elsewhere.relay import Elsewhere
from web.live.hub import LiveHub
from web.sql.asked import AskedBook


@dataclass(frozen=True)
class Services:
    """The owners of everything live; made once by app.py and never by a page."""

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
    elsewhere: Elsewhere
    reports: EndedReports
    evidence: EndedEvidence
    asked: AskedBook = field(default_factory=AskedBook)
    shipping: LakeShipping | None = None
    fleet: Fleet | None = None  # other machines' runs
    lake_sandbox: LakeSandbox | None = None  # SQL over them
    freshness: Callable[[], Sequence[Freshness]] = tuple  # of the collecting of each live run


_provided: list[Services] = []


def provide(services: Services | None) -> None:
    """Set the services of this process, or take them away at its end."""
    _provided.clear()
    if services is not None:
        _provided.append(services)


def services() -> Services:
    """The services; a page that runs without app.py gets a plain error."""
    if not _provided:
        raise RuntimeError("Pitwall's services are not up: start it with `make run` or `./pitwall run`")
    return _provided[0]
