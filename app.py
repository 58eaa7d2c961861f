"""Composition of the application: the store, the launcher, the collectors and the pages, opened and closed together.

`./pitwall run` serves it. Nothing imports it, because a second import would be a second owner of the store.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from cli.results.compare import ComparisonWords, read_comparison
from domain import utc_now
from launcher.remote.hosts import HostBook
from machine.private_files import close_to_others
from machine.run_with_timeout import run_bounded
from redaction import KNOWN, is_secret_name
from reports.cache.run_cache import EvidenceCache, ReportCache
from reports.health import health_fields, is_fresh
from service.agents import AgentIntake
from service.closing import ClosingStack
from service.core import opened_core
from service.fleet import Fleet
from service.notifications.channels import ChannelBook
from service.proposals import ProposalBook
from settings import VERSION, Settings, SettingsError, load_settings
from storage.claim import claimed_store, open_handed_over
from storage.database import StoreError
from storage.files.report_files import ReportFiles
from storage.sandbox.client import Sandbox
from storage.sandbox.lake.client import LakeSandbox
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook, share_url
from web.access.sign_in_config import SignInError, read_sign_in
from web.access.signing_key import load_secret
from web.access.tokens import TokenBook
from web.context import Services, provide, services
from web.live.finished_charts import FinishedCharts
from web.live.hub import LiveHub
from web.live.peers.peers import PeerBook
from web.live.peers.relay import PeerRelay
from web.live.reader import StoreReader
from web.openmetrics.export_reader import ExportReader, ExportSources
from web.runs.first_page import first_page
from web.runs.table.run_cards import first_cards
from web.server.api.agent_api import agent_routes
from web.server.api.answer_api import answer_route
from web.server.api.compare_api import ComparisonRequest, compare_route
from web.server.api.live_api import live_routes
from web.server.api.metrics_api import metrics_route
from web.server.api.report_api import report_route
from web.server.api.series_api import series_route
from web.server.api.sql_api import LAKE_PATH, sql_route
from web.server.first_look import FirstLook
from web.server.page_start import PageStart
from web.server.routes import build_routes
from web.server.script_events import keep_script_events
from web.server.shell_audit import keep_recording
from web.server.sign_in import sign_in_routes
from web.server.streamlit_code import CompressedCode
from web.server.warm_up import import_and_freeze
from web.sql.history import QueryHistory

try:
    settings = load_settings().with_address(st.get_option("server.address"), st.get_option("server.port"))
    secret = load_secret(settings.secret_path)
    provider = read_sign_in(settings.sign_in_path)
except (SettingsError, SignInError) as error:
    sys.exit(f"Pitwall cannot start: {error}")
KNOWN.add(value for name, value in os.environ.items() if is_secret_name(name, value))
base_path = settings.base_path
keep_script_events()
access = access_for(settings, secret)
shares = ShareBook(access.secret, share_url(settings))
tokens = TokenBook(settings.tokens_path)
sessions = SessionBook(settings.sessions_path, is_token_open=tokens.is_open)
query_history = QueryHistory(settings.query_history_path, sessions.is_open)
watched_peers = PeerRelay(PeerBook(settings.peers_path))
report_files = ReportFiles(settings.runs_dir)
reports, evidence = ReportCache(report_files), EvidenceCache(report_files)
finished_runs = FinishedCharts(report_files, reports)
hub = LiveHub(
    StoreReader(lambda: services().store, finished=finished_runs),
    is_storing=lambda: services().store.health().is_storing,
    peer_relay=watched_peers,
)
export_reader = ExportReader(
    ExportSources(
        lambda: services().store,
        lambda: services().supervisor.live_runs(),
        lambda: services().freshness(),
        utc_now,
        VERSION,
    )
)
sandbox, lake_sandbox = Sandbox(settings, run_bounded), LakeSandbox(settings, run_bounded)


@contextmanager
def opened_services() -> Iterator[Services]:
    """Open everything that lives as long as Pitwall, in order, and close it in reverse."""
    with (
        claimed_store(settings),
        opened_core(settings, prepare, reports, [finished_runs, evidence], open_store) as core,
        ClosingStack() as later,
    ):
        fleet = Fleet(settings, core.store)
        later.close_later("the connection to the lake", fleet.close)
        yield Services(
            settings,
            core.store,
            core.supervisor,
            core.studies,
            hub,
            shares,
            sessions,
            tokens,
            sandbox,
            AgentIntake(core.store, core.clock.utc),
            watched_peers,
            reports,
            evidence,
            query_history,
            shipping=core.shipping,
            notifier=core.notifier,
            fleet=fleet,
            lake_sandbox=lake_sandbox,
            freshness=core.loop.freshness,
        )


def open_store(settings: Settings) -> Store:
    """Open the store; a command that owns it is named, and hands it over."""

    def tell(sentence: str) -> None:
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()

    return open_handed_over(settings, tell)


def prepare(store: Store) -> None:
    """Connect the caches and the live hub to the store before its first commit."""
    store.on_commit(finished_runs.invalidate)
    store.on_commit(reports.invalidate)
    store.on_commit(evidence.invalidate)
    store.on_commit(hub.on_commit)
    shares.load(store)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Start with the process, end with SIGTERM; launched servers stay running."""
    import_and_freeze()
    try:
        close_data_folder()
        with opened_services() as running_services:
            async with watched_peers, hub, recorded_audit(running_services.store):
                provide(running_services)
                sys.stdout.write(f"Open {access.url}/?token={access.token}\n")
                sys.stdout.flush()
                yield
                provide(None)
                # Printed before closing, which a hanging disk may cut short.
                if live_run_count := len(running_services.supervisor.live_runs()):
                    sys.stdout.write(f"{live_run_count} server(s) left running; the next start takes them over.\n")
                    sys.stdout.flush()
    except StoreError as error:
        # Raised from here, it would be reported as the traceback of a bug; nothing is open yet that needs closing.
        sys.stderr.write(f"Pitwall cannot start: {error}\n")
        sys.stderr.flush()
        os._exit(1)


@asynccontextmanager
async def recorded_audit(store: Store) -> AsyncIterator[None]:
    """Copy audit entries of what the CLI changed (tokens, peers, hosts, channels, proposals) into the store."""
    lists = (
        tokens,
        watched_peers.peers,
        HostBook(settings.hosts_path),
        ChannelBook(settings.notify_path),
        ProposalBook(settings.proposals_path),
    )
    books = [book.record_audit for book in lists]
    recording = asyncio.create_task(keep_recording(books, store.record), name="shell-audit")
    try:
        yield
    finally:
        recording.cancel()


def close_data_folder() -> None:
    """Close files that another umask left open to other users of this machine, and report it."""
    if changed := close_to_others(settings.data_dir, settings.data_file_names):
        sys.stdout.write(
            f"{changed} files and folders in {settings.data_dir} were open to other users; Pitwall closed them.\n"
        )
    if settings.data_dir.stat().st_mode & 0o077:
        sys.stdout.write(
            f"{settings.data_dir} also holds other files and stays open; Pitwall's own files are closed.\n"
        )


def count_live_runs() -> int:
    """Count the runs that have, or may have, a server now, for `/healthz`."""
    return len(services().supervisor.live_runs())


def is_well() -> bool:
    """Whether data is stored durably and published in time; `/healthz` answers 503 if not."""
    return is_fresh(services().store.health())


def health() -> dict[str, Any]:
    """Return ages, sizes and run ids for `/healthz`, which is public: no path and no name."""
    return health_fields(services().store.health(), services().freshness())


def compare(request: ComparisonRequest) -> dict[str, Any]:
    """Return the comparison of a program's request, as `./pitwall compare --json` prints it."""
    return read_comparison(settings, ComparisonWords(**dict(request))).as_json()


try:
    sign_in = sign_in_routes(provider, access, sessions, lambda entries: services().store.record(entries))
except SignInError as error:
    sys.exit(f"Pitwall cannot start: {error}")

app = st.App(
    "web/shell.py",
    lifespan=lifespan,
    routes=[
        *build_routes(hub, count_live_runs, VERSION, base_path, is_well, health),
        report_route(base_path),
        series_route(finished_runs, base_path),
        answer_route(base_path),
        sql_route(sandbox.ask, base_path),
        compare_route(compare, base_path),
        sql_route(lake_sandbox.ask, base_path, LAKE_PATH),
        metrics_route(export_reader.read, base_path),
        *live_routes(hub, lambda: services().supervisor.live_runs(), base_path),
        *agent_routes(lambda: services().intake, base_path),
        *sign_in,
    ],
    middleware=[
        Middleware(
            AuthMiddleware,
            access=access,
            shares=shares,
            sessions=sessions,
            tokens=tokens,
            provider=provider.name if provider else None,
        ),
        Middleware(CompressedCode, base_path=base_path),
        Middleware(PageStart, base_path=base_path),
        Middleware(
            FirstLook,
            render_cards=lambda run_ids: first_cards(services().store, run_ids, reports, finished_runs.get),
            render_first_page=lambda: first_page(services().store),
            base_path=base_path,
        ),
    ],
)
