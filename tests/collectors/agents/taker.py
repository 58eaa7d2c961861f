"""The taking half of a Pitwall, to be killed: real store, access check and route for agents, in a process of their own.

Its arguments: data folder, address, port, and with TLS a certificate and its key.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from domain import utc_now
from service.agents import AgentIntake
from settings import Settings
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TokenBook
from web.server.api.agent_api import agent_routes

SECRET = b"a secret of more than enough length"


def taking(settings: Settings, store: Store) -> Starlette:
    intake = AgentIntake(store, utc_now)
    access_check = Middleware(
        AuthMiddleware,
        access=access_for(settings, SECRET),
        shares=ShareBook(SECRET, ""),
        sessions=SessionBook(settings.sessions_path),
        tokens=TokenBook(settings.tokens_path),
    )
    return Starlette(routes=agent_routes(lambda: intake), middleware=[access_check])


def main() -> None:
    folder, host, port, *tls = sys.argv[1:]
    settings = Settings(data_dir=Path(folder), host=host)
    certificate, key = tls or (None, None)
    app = taking(settings, Store.open(settings))
    uvicorn.run(app, host=host, port=int(port), ssl_certfile=certificate, ssl_keyfile=key, log_level="warning")


if __name__ == "__main__":
    main()
