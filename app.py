"""Pitwall, composed: the store, the launcher, the collectors and the pages, opened and closed together.

`./pitwall run` serves it; nobody imports it, for a second import would be a second owner of the store.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from collectors.forward_clock import forward_clock
from collectors.gpu_now import look_at_gpus
from collectors.imports.inbox import Inbox, inbox_folder
from collectors.imports.log_import import LogImporter
from collectors.logs.failure_cause import failure_of
from collectors.loop import CollectorLoop
from collectors.standard import standard_collectors
from domain import RunState, utc_now
from engines import ENGINES
from engines.definitions import CLIENT
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from machine.private_files import close_to_others
from machine.run_with_timeout import run_bounded
from redaction import KNOWN, is_secret_name
from reports.health import health_fields, is_fresh
from samples import Batch, Event
from settings import VERSION, SettingsError, load_settings
from storage.database import StoreError
from storage.sandbox.client import Sandbox
from storage.store import Store
from storage.transfer.bundle_import import import_bundle
from web.access.auth import AuthMiddleware, access_for
from web.access.sessions import SessionBook
from web.access.shares import ShareBook, share_url
from web.access.signing_key import load_api_token, load_secret
from web.context import Services, provide, services
from web.live.hub import LiveHub
from web.live.reader import StoreReader
from web.runs.run_cards import first_cards
from web.server.closing import exit_within
from web.server.first_look import FirstLook
from web.server.routes import build_routes
from web.server.sql_api import sql_route
from web.server.warm_up import import_and_freeze
from workloads.prepare import prepare_workload

STOP_TIMEOUT_S = 2.0
INBOX_TIMEOUT_S = 0.5  # an import that takes longer goes on at the next start
CLOSE_WITHIN_S = 5.0

try:
    settings = load_settings().at(st.get_option("server.address"), st.get_option("server.port"))
    secret, api_token = load_secret(settings.secret_path), load_api_token(settings.api_token_path)
except SettingsError as error:
    sys.exit(f"Pitwall cannot start: {error}")
KNOWN.add(value for name, value in os.environ.items() if is_secret_name(name, value))
base_path = ("/" + st.get_option("server.baseUrlPath").strip("/")).rstrip("/")
access = access_for(settings, secret, api_token, base_path)
shares = ShareBook(access.secret, share_url(settings, base_path))
sessions = SessionBook(settings.sessions_path)
hub = LiveHub(StoreReader(lambda: services().store), is_storing=lambda: services().store.health().is_storing)
sandbox = Sandbox(settings, run_bounded)


@contextmanager
def opened() -> Iterator[Services]:
    """Everything that lives as long as Pitwall does, opened in order and closed in reverse."""
    with ExitStack() as closing:
        store = Store.open(settings)
        closing.callback(store.close)
        store.set_definitions([*(row for engine in ENGINES for row in engine.definitions), *CLIENT])
        store.on_commit(hub.on_commit)
        shares.load(store)
        clock = forward_clock()
        supervisor = Supervisor(
            store,
            settings.runs_dir,
            events=lambda batch: tell(store, loop, batch),
            clock=clock.utc,
            prepare_workload=prepare_workload,
            explain_failure=failure_of,
            gpus=look_at_gpus,
        )
        loop = CollectorLoop(
            lambda batch: take(store, supervisor, batch),
            supervisor.live_runs,
            standard_collectors(machine_id(), store.tail_position, supervisor.api_key, clock),
            clock,
        )
        closing.callback(loop.stop, STOP_TIMEOUT_S)
        supervisor.adopt_all()
        loop.start()
        supervisor.start()
        closing.callback(supervisor.close)
        inbox = Inbox(
            inbox_folder(settings.data_dir),
            LogImporter(store, settings.runs_dir, utc_now),
            lambda path, tell: import_bundle(store, settings, path, tell),
            (StoreError,),
        )
        inbox.start()
        closing.callback(inbox.close, INBOX_TIMEOUT_S)
        yield Services(settings, store, supervisor, hub, shares, sessions, sandbox, loop.freshness)


def tell(store: Store, loop: CollectorLoop, batch: Batch) -> None:
    """What the supervisor says goes to the store; a run that is over gets its last turns."""
    store.write(batch)
    for event in batch.samples:
        if isinstance(event, Event) and event.kind == "state" and RunState(event.data["state"]).is_final:
            run = store.run(event.run_id)
            if run:
                loop.end(run)


def take(store: Store, supervisor: Supervisor, batch: Batch) -> Future[None]:
    """What the collectors bring goes to the store; the phase and the facts that a log tells, to the run that starts."""
    for event in batch.samples:
        if isinstance(event, Event) and event.kind == "phase":
            supervisor.set_phase(event.run_id, event.text)
        elif isinstance(event, Event) and event.kind == "startup":
            supervisor.note_fact(event.run_id, event.data["key"], event.data["value"])
    return store.write(batch)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Start with the process, end with SIGTERM; servers that we launched live on."""
    import_and_freeze()
    try:
        close_data_folder()
        with opened() as ours:
            async with hub:
                provide(ours)
                sys.stdout.write(f"Open {access.url}/?token={access.token}\n")
                sys.stdout.flush()
                yield
                provide(None)
                left = ours.supervisor.live_runs()
                exit_within(CLOSE_WITHIN_S)
        if left:
            sys.stdout.write(f"{len(left)} server(s) left running; the next start takes them back.\n")
    except StoreError as error:
        # Raised from here, it would come out as the traceback of a bug; nothing is open yet that wants closing.
        sys.stderr.write(f"Pitwall cannot start: {error}\n")
        sys.stderr.flush()
        os._exit(1)


def close_data_folder() -> None:
    """What an older Pitwall, or another umask, left open to other users of this machine is closed, and said."""
    if changed := close_to_others(settings.data_dir, settings.own_names):
        sys.stdout.write(f"{changed} files and folders of {settings.data_dir} were open to other users: closed.\n")
    if settings.data_dir.stat().st_mode & 0o077:
        sys.stdout.write(f"{settings.data_dir} holds other things too and was left open; Pitwall's own are closed.\n")


def count_live_runs() -> int:
    return len(services().supervisor.live_runs())


def is_well() -> bool:
    return is_fresh(services().store.health())


def health() -> dict[str, Any]:
    return health_fields(services().store.health(), services().freshness())


app = st.App(
    "web/shell.py",
    lifespan=lifespan,
    routes=[
        *build_routes(hub, count_live_runs, VERSION, base_path, is_well, health),
        sql_route(sandbox.ask, base_path),
    ],
    middleware=[
        Middleware(AuthMiddleware, access=access, shares=shares, sessions=sessions),
        Middleware(FirstLook, look=lambda run_ids: first_cards(services().store, run_ids), base_path=base_path),
    ],
)
