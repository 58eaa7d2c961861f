"""Answers that end or begin unusually reach the client as sent, and nothing that follows them."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.workloads.recording.recorders import ASK, SENT, STREAM, Recording, during, post, recorder_of
from tests.workloads.servers import DONE, HEAD, chunk, sends
from workloads.recording.upstream_connection import MAX_UNREAD_BYTES, UpstreamConnectionError, UpstreamConnections

ANSWER = json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}).encode()
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", *STREAM), SENT),
        ((JSON_HEAD + b"\r\n", ANSWER), ANSWER),
        ((b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n", ANSWER), ANSWER),
        ((b"".join(STREAM) + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond",), SENT),
    ],
    ids=["interim heads", "ended by closing", "HTTP/1.0", "second answer"],
)
def test_only_the_answer_reaches_the_client(pieces: tuple[bytes, ...], body: bytes, tmp_path: Path) -> None:
    (status, (received, _)), recording = during(sends(*pieces), tmp_path, post)
    assert (status, received) == (200, body)
    assert [row.error_kind for row in recording.rows] == [None]


def test_no_next_request_gets_what_followed_an_answer(tmp_path: Path) -> None:
    connections = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(b"".join(STREAM))
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
        await reader.read()

    async def act(recording: Recording) -> list[bytes]:
        first = await post(recording)
        await asyncio.sleep(0.3)
        return [body for _, (body, _) in (first, await post(recording))]

    bodies, _ = during(script, tmp_path, act)
    assert bodies == [SENT, SENT] and connections == 2


def test_a_slow_client_holds_the_server_back(tmp_path: Path) -> None:
    """What the recorder holds of an answer is bounded, not what it forwards."""
    data = b"data: " + b"x" * 100_000 + b"\n\n"
    sent_bytes = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent_bytes
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        for _ in range(400):
            writer.write(chunk(data))
            await writer.drain()
            sent_bytes += len(data)
        writer.write(DONE)
        await writer.drain()

    async def act(recording: Recording) -> tuple[int, int]:
        host, port = recording.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        body = json.dumps(ASK).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {recording.token}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await asyncio.sleep(1.0)
        held_back_at = sent_bytes
        received = await reader.read()
        writer.close()
        return held_back_at, len(received)

    (held_back_at, received), _ = during(script, tmp_path, act)
    assert MAX_UNREAD_BYTES < 30_000_000 and held_back_at < 30_000_000 < 400 * len(data) < received


def test_a_header_with_a_line_break_is_not_sent() -> None:
    connections = UpstreamConnections("http://127.0.0.1:1", silence_s=1.0)
    request = connections.request("POST", "/v1/completions", {"Authorization": "Bearer a\r\nX: y"})
    request.begin(0)
    with pytest.raises(UpstreamConnectionError, match="line break"):
        asyncio.run(request.answer())


def test_server_with_tls_is_reached_by_a_certificate_that_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second certificate is signed by nobody whom this machine trusts."""
    for name in ("trusted", "other"):
        (tmp_path / name).mkdir()
        words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(["openssl", *words, *names], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await sends(*STREAM)(reader, writer)
        writer.close()

    async def answers(name: str) -> list[tuple[int, bytes]]:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        server = await asyncio.start_server(script, "127.0.0.1", 0, ssl=tls)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, recorder_of(url, tmp_path / name) as recording:
            return [(status, body) for status, (body, _) in [await post(recording) for _ in range(2)]]

    assert asyncio.run(answers("trusted")) == [(200, SENT)] * 2
    statuses, bodies = zip(*asyncio.run(answers("other")), strict=True)
    assert statuses == (502, 502) and b"certificate verify failed" in bodies[0]
