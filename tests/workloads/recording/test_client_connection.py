"""Clients that send in unusual ways: each request is answered once, and nothing unread is held beyond its limit."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.workloads.recording.recorders import ASK, CHAT, SENT, STREAM, Recording, during
from tests.workloads.servers import Script
from workloads.recording.http_head import MAX_HEAD_BYTES, HeaderLineError, http_head

BODY = json.dumps(ASK).encode()
LENGTH = f"Content-Length: {len(BODY)}\r\n"


def keeps_open() -> Script:
    """A script that answers every request on its connection."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            writer.write(b"".join(STREAM))
            await writer.drain()

    return script


def head_of(recording: Recording, headers: str = LENGTH, version: str = "1.1") -> bytes:
    first = f"POST {CHAT} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer {recording.token}\r\n"
    return f"{first}{headers}\r\n".encode()


async def exchange(recording: Recording, *pieces: bytes, pause_s: float = 0.02) -> bytes:
    """Return everything that a connection gives for these pieces until it is closed."""
    host, port = recording.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause_s)
    data = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return data


def body_of(answer: bytes) -> bytes:
    """Return the chunks of an answer, joined."""
    rest, parts = answer.partition(b"\r\n\r\n")[2], []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(parts)


def cut(data: bytes, seed: int) -> list[bytes]:
    places = sorted(random.Random(seed).sample(range(1, len(data)), 6))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_a_request_in_pieces_is_one_request(seed: int, tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        head = head_of(recording, f"{LENGTH}Connection: close\r\n")
        return await exchange(recording, *cut(head + BODY, seed), pause_s=0.005)

    answer, recording = during(keeps_open(), tmp_path, act)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and body_of(answer) == SENT and len(recording.rows) == 1


def test_a_body_in_chunks_is_whole(tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        head = head_of(recording, "Transfer-Encoding: chunked\r\nConnection: close\r\n")
        chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut(BODY, 1)]
        return await exchange(recording, head, *chunks, b"0\r\n\r\n")

    answer, recording = during(keeps_open(), tmp_path, act)
    assert body_of(answer) == SENT and recording.rows[0].sampling["max_tokens"] == 9


def test_one_connection_carries_many_requests(tmp_path: Path) -> None:
    async def act(recording: Recording) -> list[bytes]:
        host, port = recording.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        answers = []
        for _ in range(3):
            writer.write(head_of(recording) + BODY)
            answers.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.close()
        return answers

    answers, recording = during(keeps_open(), tmp_path, act)
    assert [body_of(answer) for answer in answers] == [SENT] * 3 and len(recording.rows) == 3


def test_a_client_that_does_not_wait_gets_one_answer(tmp_path: Path) -> None:
    """The second request is sent with the first, or while it is answered."""

    async def act(recording: Recording) -> list[bytes]:
        request = head_of(recording) + BODY
        return [await exchange(recording, request * 2), await exchange(recording, request, request, pause_s=0.0)]

    answers, recording = during(keeps_open(), tmp_path, act)
    assert answers[0].count(b"HTTP/1.1 200") == 1
    assert all(body_of(answer[: answer.index(b"0\r\n\r\n") + 5]) == SENT for answer in answers)
    assert recording.rows and all(row.error_kind is None for row in recording.rows)


def test_a_client_that_sends_on_gets_its_answer_whole(tmp_path: Path) -> None:
    """Closing while its next request arrives would reset the connection."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.1)
        writer.write(b"".join(STREAM))
        await writer.drain()

    async def act(recording: Recording) -> bytes:
        request = head_of(recording) + BODY
        return await exchange(recording, request, *[b"x" * 70_000] * 20, pause_s=0.02)

    answer, _ = during(script, tmp_path, act)
    assert body_of(answer) == SENT


def test_a_client_may_ask_before_it_sends_the_body(tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        head = head_of(recording, f"{LENGTH}Expect: 100-continue\r\nConnection: close\r\n")
        return await exchange(recording, head, BODY, pause_s=0.1)

    answer, _ = during(keeps_open(), tmp_path, act)
    continued, _, rest = answer.partition(b"\r\n\r\n")
    assert continued == b"HTTP/1.1 100 Continue" and body_of(rest) == SENT


def test_an_old_client_gets_no_chunks(tmp_path: Path) -> None:
    answer, _ = during(keeps_open(), tmp_path, lambda r: exchange(r, head_of(r, version="1.0") + BODY))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == SENT and b"chunked" not in head and b"Connection: close" in head


def test_a_refused_client_gets_the_reason_while_it_sends(tmp_path: Path) -> None:
    """Closing at once would reset the connection before the client has read the answer."""
    size = 3_000_000
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: {size}\r\n\r\n".encode()

    async def act(recording: Recording) -> bytes:
        return await exchange(recording, head, *[b"x" * (size // 10)] * 10)

    answer, recording = during(keeps_open(), tmp_path, act)
    assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n") and answer.endswith(b'"type":"recorder"}}')
    assert recording.rows == [] and recording.recorder.held_bytes == 0


LARGE = b"x" * (MAX_HEAD_BYTES + 10)
NO_REQUESTS: list[Sequence[bytes]] = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",),
    (b"GET /v1/models HTTP/9.9\r\n\r\n",),
    (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",),
    (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",),
    (b"POST /\xff HTTP/1.1\r\n\r\n",),
]


@pytest.mark.parametrize("pieces", NO_REQUESTS)
def test_what_is_no_request_is_refused(pieces: Sequence[bytes], tmp_path: Path) -> None:
    answer, recording = during(keeps_open(), tmp_path, lambda r: exchange(r, *pieces))
    assert answer.split(b" ")[1] in (b"400", b"404") and recording.rows == []


@pytest.mark.parametrize(
    "pieces",
    [
        (b"GET /v1/models HTTP/1.1\r\nX: ", *[b"y" * 8000] * 6),
        (b"GET /v1/models HTTP/1.1\r\nX: " + LARGE + b"\r\n\r\n",),
        (b"GET /" + LARGE + b" HTTP/1.1\r\nX: y\r\n\r\n",),
    ],
    ids=["slowly", "at once", "in its address"],
)
def test_a_large_head_is_refused(pieces: Sequence[bytes], tmp_path: Path) -> None:
    answer, _ = during(keeps_open(), tmp_path, lambda r: exchange(r, *pieces))
    assert answer.split(b" ")[1] in (b"400", b"431")


def test_a_body_that_breaks_its_coding_is_refused(tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        return await exchange(recording, head_of(recording, "Transfer-Encoding: chunked\r\n"), b"no size\r\n")

    answer, recording = during(keeps_open(), tmp_path, act)
    assert answer.startswith(b"HTTP/1.1 400 ") and recording.rows == [] and recording.recorder.held_bytes == 0


def test_an_idle_client_is_disconnected(tmp_path: Path) -> None:
    answer, _ = during(keeps_open(), tmp_path, lambda r: exchange(r, head_of(r) + BODY), head_s=0.3)
    assert body_of(answer) == SENT


def test_no_header_ends_its_line() -> None:
    with pytest.raises(HeaderLineError):
        http_head("HTTP/1.1 200 OK", {"Content-Type": "a\r\nX: y"})
