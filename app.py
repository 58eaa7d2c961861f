"""Pitwall, composed: the store, the launcher, the collectors and the pages, opened and closed together.

`./pitwall run` serves it; nobody imports it, for a second import would be a second owner of the store.
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

from launcher.remote.hosts import HostBook
from machine.private_files import close_to_others
from machine.run_with_timeout import run_bounded
from redaction import KNOWN, is_secret_name
from reports.health import health_fields, is_fresh
from reports.runs.ended import EndedEvidence, EndedReports
from service.agents import AgentIntake
from service.closing import Opened
from service.core import opened_core
from service.fleet import Fleet
from settings import VERSION, SettingsError, load_settings
from storage.database import StoreError
from storage.files.known import KnownFiles
from storage.sandbox.client import Sandbox
from storage.sandbox.lake.client import LakeSandbox
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook, share_url
from web.access.sign_in_config import SignInError, read_sign_in
from web.access.signing_key import load_secret
from web.access.tokens import TokenBook, TokenError
from web.context import Services, provide, services
from web.guided_demo.welcome import welcome
from web.live.elsewhere.peers import PeerBook
from web.live.elsewhere.relay import Elsewhere
from web.live.ended import EndedRuns
from web.live.hub import LiveHub
from web.live.reader import StoreReader
from web.runs.table.run_cards import first_cards
from web.server.api.agent_api import agent_routes
from web.server.api.answer_api import answer_route
from web.server.api.live_api import live_routes
from web.server.api.report_api import report_route
from web.server.api.series_api import series_route
from web.server.api.sql_api import OF_LAKE, sql_route
from web.server.first_look import FirstLook
from web.server.page_start import PageStart
from web.server.routes import build_routes
from web.server.shell_audit import keep_recording
from web.server.sign_in import sign_in_routes
from web.server.warm_up import import_and_freeze
from web.sql.asked import AskedBook

try:
    settings = load_settings().at(st.get_option("server.address"), st.get_option("server.port"))
    secret = load_secret(settings.secret_path)
    provider = read_sign_in(settings.sign_in_path)
except (SettingsError, SignInError) as error:
    sys.exit(f"Pitwall cannot start: {error}")
KNOWN.add(value for name, value in os.environ.items() if is_secret_name(name, value))
base_path = settings.base_path
access = access_for(settings, secret)
shares = ShareBook(access.secret, share_url(settings))
tokens = TokenBook(settings.tokens_path)
sessions = SessionBook(settings.sessions_path, is_token_open=tokens.is_open)
asked = AskedBook(settings.asked_path, sessions.is_open)
elsewhere = Elsewhere(PeerBook(settings.peers_path))
kept = KnownFiles(settings.runs_dir)
reports, evidence = EndedReports(kept), EndedEvidence(kept)
ended = EndedRuns(kept, reports)
hub = LiveHub(
    StoreReader(lambda: services().store, ended=ended),
    is_storing=lambda: services().store.health().is_storing,
    elsewhere=elsewhere,
)
sandbox, lake_sandbox = Sandbox(settings, run_bounded), LakeSandbox(settings, run_bounded)


@contextmanager
def opened() -> Iterator[Services]:
    """Everything that lives as long as Pitwall does, opened in order and closed in reverse."""
    with (
        opened_core(settings, prepare, reports, [ended.prepare, evidence.prepare]) as core,
        Opened() as later,
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
            elsewhere,
            reports,
            evidence,
            asked,
            shipping=core.shipping,
            fleet=fleet,
            lake_sandbox=lake_sandbox,
            freshness=core.loop.freshness,
        )


def prepare(store: Store) -> None:
    """Before the first commit."""
    store.on_commit(ended.committed)
    store.on_commit(reports.committed)
    store.on_commit(evidence.committed)
    store.on_commit(hub.on_commit)
    shares.load(store)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Start with the process, end with SIGTERM; servers that we launched live on."""
    import_and_freeze()
    try:
        close_data_folder()
        with opened() as ours:
            take_over_api_token()
            async with elsewhere, hub, recorded_audit(ours.store):
                provide(ours)
                sys.stdout.write(f"Open {access.url}/?token={access.token}\n")
                sys.stdout.flush()
                yield
                provide(None)
                if left := len(ours.supervisor.live_runs()):  # at once: a disk that hangs may cut the closing short
                    sys.stdout.write(f"{left} server(s) left running; the next start takes them back.\n")
                    sys.stdout.flush()
    except StoreError as error:
        # Raised from here, it would come out as the traceback of a bug; nothing is open yet that wants closing.
        sys.stderr.write(f"Pitwall cannot start: {error}\n")
        sys.stderr.flush()
        os._exit(1)


@asynccontextmanager
async def recorded_audit(store: Store) -> AsyncIterator[None]:
    """The audit hears of the tokens, peers and hosts that a shell has made or removed."""
    books = [book.record_audit for book in (tokens, elsewhere.peers, HostBook(settings.hosts_path))]
    recording = asyncio.create_task(keep_recording(books, store.record), name="shell-audit")
    try:
        yield
    finally:
        recording.cancel()


def take_over_api_token() -> None:
    """The one token of an older Pitwall goes on to read SQL, for a while."""
    try:
        token = tokens.take_over(settings.api_token_path)
    except (OSError, TokenError) as error:
        sys.stderr.write(f"The token in {settings.api_token_path} opens nothing: {error}\n")
        return
    if token:
        until = f"{token.expires_at:%Y-%m-%d}"
        sys.stdout.write(f"{settings.api_token_path} reads SQL until {until}; `./pitwall token make` makes others.\n")


def close_data_folder() -> None:
    """What an older Pitwall, or another umask, left open to other users of this machine is closed, and said."""
    if changed := close_to_others(settings.data_dir, settings.own_names):
        sys.stdout.write(f"{changed} files and folders of {settings.data_dir} were open to other users: closed.\n")
    if settings.data_dir.stat().st_mode & 0o077:
        sys.stdout.write(f"{settings.data_dir} holds other things too and was left open; Pitwall's own are closed.\n")


def count_live_runs() -> int:
    """How many runs have, or may have, a server now, on `/healthz`."""
    return len(services().supervisor.live_runs())


def is_well() -> bool:
    """Whether what was given to the store is durable and published in time; `/healthz` answers 503 where not."""
    return is_fresh(services().store.health())


def health() -> dict[str, Any]:
    """Ages, sizes and run ids for `/healthz`, which is open to all; no path and no name."""
    return health_fields(services().store.health(), services().freshness())


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
        series_route(ended, base_path),
        answer_route(base_path),
        sql_route(sandbox.ask, base_path),
        sql_route(lake_sandbox.ask, base_path, OF_LAKE),
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
        Middleware(PageStart, base_path=base_path),
        Middleware(
            FirstLook,
            look=lambda run_ids: first_cards(services().store, run_ids, reports),
            welcome=lambda: welcome(services().store),
            base_path=base_path,
        ),
    ],
)
