"""An agent's line: addresses that no client could ask, and answers of LABELLED STAND-INS for what is no Pitwall."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from collectors.agents.link import AddressError, Link, RefusedByPitwallError, checked_address

TOKEN = "pwt_" + "x" * 43
GOOD = {"received_s": 1.0, "returned_s": 2.0, "number": 3, "is_over": False}
Stand = Callable[[int, bytes], Link]


@pytest.fixture
def standing() -> Iterator[Stand]:
    """A server that says the same to everybody, and a line to it."""
    started: list[tuple[HTTPServer, Link]] = []

    def stand(status: int, body: bytes) -> Link:
        class Says(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *said: Any) -> None: ...

        server = HTTPServer(("127.0.0.1", 0), Says)
        Thread(target=server.serve_forever, daemon=True).start()
        started.append((server, Link(f"http://127.0.0.1:{server.server_port}", TOKEN, "r1", "a" * 32)))
        return started[-1][1]

    yield stand
    for server, link in started:
        link.close()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1",
        "https://host:word",
        "https://host:99999",
        "https://host:0",
        "https://a b",
        "https://host/a\nb",
        "https://host/\udcff",
        "https://",
        "",
    ],
)
def test_unusable_address_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(AddressError, match="not the address of a Pitwall"):
        checked_address(url)


def test_an_answer_is_read(standing: Stand) -> None:
    told = standing(200, json.dumps(GOOD).encode()).greet()
    assert (told.number, told.is_over, told.trip.received_s) == (3, False, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"received_s": "now"},
        {"received_s": None},
        {"returned_s": float("inf")},
        {"returned_s": float("nan")},
        {"received_s": 1.7e308, "returned_s": 1.7e308},
        {"number": float("nan")},
        {"number": -1},
        {"is_over": []},
    ],
    ids=str,
)
def test_foreign_answer_is_reported(standing: Stand, wrong: dict[str, Any]) -> None:
    with pytest.raises(RefusedByPitwallError, match="not a Pitwall that accepts samples"):
        standing(200, json.dumps(GOOD | wrong).encode()).greet()


def test_a_refusals_words_cannot_steer_a_terminal(standing: Stand) -> None:
    with pytest.raises(RefusedByPitwallError) as refused:
        standing(403, json.dumps({"error": "no\x1b[2J\nyes"}).encode()).greet()
    assert str(refused.value) == "no?[2J?yes"
