"""A name that is looked up slowly is part of a request's deadline; a name with several addresses is asked at each."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from machine.bounded_http import BoundedHttp, NoAnswerError, NoAnswerInTimeError, ReadLimits
from tests.ports import free_ports

REAL = socket.getaddrinfo


@pytest.fixture
def slow_lookup(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A resolver that answers when the test is over: nothing can break off the real one."""
    is_over = threading.Event()

    def looked_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host in ("slow.test", b"slow.test"):
            is_over.wait(60)
        return REAL("127.0.0.1", *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    yield
    is_over.set()


@pytest.mark.usefixtures("slow_lookup")
def test_name_lookup_respects_the_deadline() -> None:
    begun_s = time.monotonic()
    with pytest.raises(NoAnswerInTimeError, match=r"^no answer in time$"):
        BoundedHttp("http://slow.test:1").get("/", ReadLimits(1000, 0.5))
    assert time.monotonic() - begun_s < 10.0


def test_a_name_that_nobody_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NoAnswerError, match="Name or service not known"):
        BoundedHttp("http://nobody.invalid:1").get("/", ReadLimits(1000, 20.0))


def test_second_address_of_a_name_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)

    def looked_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host in ("two.test", b"two.test"):
            return [*REAL("127.0.0.2", port, **kwargs), *REAL("127.0.0.1", port, **kwargs)]
        return REAL(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with socket.create_server(("127.0.0.1", port)) as listening:

        def serve() -> None:
            taken, _ = listening.accept()
            with taken:
                taken.recv(1000)
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        threading.Thread(target=serve, daemon=True).start()
        assert BoundedHttp(f"http://two.test:{port}").get("/", ReadLimits(1000, 20.0)).content == b"ok"
