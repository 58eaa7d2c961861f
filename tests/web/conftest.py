"""Fixtures for web tests: a real uvicorn around an ASGI app, and stand-ins for the services of the pages."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import uvicorn

from web.context import provided_services

Serve = Callable[..., AbstractContextManager[str]]
ProvideServices = Callable[[Any], None]


@contextlib.contextmanager
def _served(app: Any, **settings: Any) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", lifespan="on", ws="websockets-sansio", **settings)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)
            assert not thread.is_alive(), "the server did not end"


@pytest.fixture
def serve() -> Serve:
    """`with serve(app) as 'host:port':`, with more of uvicorn's settings by name."""
    return _served


@pytest.fixture
def provide_services() -> Iterator[ProvideServices]:
    """`provide_services(stand_in)`: what `web.context.services()` returns until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda stand_in: stack.enter_context(provided_services(stand_in))
