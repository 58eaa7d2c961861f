"""The ports of a process without a network lead to the addresses that were named, and to nothing else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest

from storage.lake.config import S3, LakeConfig, LakeError, keywords
from storage.sandbox.lake.forwarder import ForwardTarget, forward, open_ports
from storage.sandbox.lake.lake_addresses import redirect_catalogue, targets

HELLO = b"hello, it is "


@pytest.fixture
def server() -> Iterator[int]:
    """A server that greets each client and echoes what it says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                with line:
                    line.sendall(HELLO)
                    while piece := line.recv(100):
                        line.sendall(piece)

        Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def port_to(*forward_target: ForwardTarget) -> list[int]:
    ours, theirs = socket.socketpair()
    ports = open_ports(ours, forward_target)
    forward(theirs)
    return ports


def send_and_receive(port: int, words: bytes) -> bytes:
    """All that comes back until the other end closes, which it may do before it has heard everything."""
    content = b""
    with socket.create_connection(("127.0.0.1", port), 30) as line, suppress(ConnectionError):
        line.sendall(words)
        with suppress(OSError):
            line.shutdown(socket.SHUT_WR)
        while piece := line.recv(4096):
            content += piece
    return content


def test_a_port_leads_to_its_target(server: int) -> None:
    assert send_and_receive(port_to(ForwardTarget("127.0.0.1", server))[0], b"me" * 100_000) == HELLO + b"me" * 100_000


def test_tunnel_leads_only_to_its_server(server: int) -> None:
    (port,) = port_to(ForwardTarget("127.0.0.1", server, is_tunnel=True))
    right = f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    assert send_and_receive(port, right) == b"HTTP/1.1 200 Connection established\r\n\r\n" + HELLO
    for wrong in (
        b"CONNECT elsewhere:443 HTTP/1.1\r\n\r\n",
        b"GET http://elsewhere/ HTTP/1.1\r\n\r\n",
        b"x" * 9000,
        b"",
    ):
        assert not send_and_receive(port, wrong).startswith(b"HTTP/1.1 200"), wrong


def test_a_target_that_is_away_closes_the_line(server: int) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        assert send_and_receive(port_to(ForwardTarget("127.0.0.1", nobody.getsockname()[1]))[0], b"") == b""


def test_catalogue_keeps_name_without_password() -> None:
    dsn = r"host=db.example.org port=6432 dbname=lake user='a wall' password='it\'s \\ hidden' sslmode=verify-full"
    s3 = S3(endpoint="s3.example.org", key_id="k", secret="s")
    config = LakeConfig(catalogue=dsn, data_path="s3://b/", s3=s3)
    assert targets(config) == [("db.example.org", 6432, False), ("s3.example.org", 443, True)]
    near, password = redirect_catalogue(config, 5)
    assert password == r"it's \ hidden"
    assert keywords(near.catalogue) == {
        "host": "db.example.org", "hostaddr": "127.0.0.1", "port": "5", "dbname": "lake", "user": "a wall",
        "sslmode": "verify-full",
    }  # fmt: skip
    plain = config.model_copy(update={"s3": s3.model_copy(update={"endpoint": "s3:9000", "use_ssl": False})})
    assert targets(plain)[1] == ("s3", 9000, False)


def test_a_socket_of_postgresql_is_led_to() -> None:
    config = LakeConfig(catalogue="host=/run/postgresql dbname=lake", data_path="/shared/lake")
    assert targets(config) == [("/run/postgresql", 5432, False)]
    assert keywords(redirect_catalogue(config, 5)[0].catalogue)["sslmode"] == "disable"


@pytest.mark.parametrize("dsn", ["postgresql://a:word@b/c", "host=a,b dbname=c", "dbname=c password=word", "host="])
def test_unforwardable_catalogue_stays_unnamed(dsn: str) -> None:
    with pytest.raises(LakeError) as refusal:
        keywords(dsn)
    assert "word@" not in str(refusal.value) and "=word" not in str(refusal.value)
