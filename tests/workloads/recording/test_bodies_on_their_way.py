"""Bodies that the recorder sends to the server while they arrive."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.workloads.recording.recorders import ASK, CHAT, SENT, STREAM, Recording, during, post
from tests.workloads.servers import Script

BODY = json.dumps({**ASK, "messages": [{"role": "user", "content": "word " * 20_000}]}).encode()
HALF = len(BODY) // 2
WAIT_S = 0.2  # for what was sent to arrive


@dataclass
class SeenRequests:
    """What a fake server has received so far on each of its connections, without heads."""

    bodies: list[bytearray] = field(default_factory=list)
    lost: int = 0  # connections that ended within a body
    closes_after_head: int | None = None  # the connection that the server closes instead of reading a second body

    async def script(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = len(self.bodies)
        self.bodies.append(bytearray())
        for turn in range(100):
            head = await reader.readuntil(b"\r\n\r\n")
            if turn and connection == self.closes_after_head:
                return
            self.bodies[connection].clear()
            while len(self.bodies[connection]) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
                data = await reader.read(1 << 16)
                self.bodies[connection] += data
                if not data:
                    self.lost += 1
                    return
            writer.write(b"".join(STREAM))


async def connected(
    recording: Recording, length: int, headers: str = "", path: str = CHAT
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a client's connection on which the head of a request was sent."""
    host, port = recording.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {recording.token}\r\nContent-Length: {length}\r\n"
    writer.write(f"{head}{headers}Connection: close\r\n\r\n".encode())
    return reader, writer


def on_its_way(seen_requests: SeenRequests, folder: Path) -> tuple[tuple[bytes, bytes], Recording]:
    """Return what the server had after half of a second request, and the client's whole answer."""

    async def act(recording: Recording) -> tuple[bytes, bytes]:
        await post(recording)
        reader, writer = await connected(recording, len(BODY))
        writer.write(BODY[:HALF])
        await asyncio.sleep(WAIT_S)
        arrived = bytes(seen_requests.bodies[0])
        for start in range(HALF, len(BODY), 5000):
            writer.write(BODY[start : start + 5000])
            await asyncio.sleep(0.005)
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        return arrived, answer

    return during(seen_requests.script, folder, act)


def test_a_body_reaches_the_server_while_it_arrives(tmp_path: Path) -> None:
    seen_requests = SeenRequests()
    (arrived, answer), recording = on_its_way(seen_requests, tmp_path)
    assert arrived == BODY[:HALF] and [bytes(body) for body in seen_requests.bodies] == [BODY]
    assert b"data: [DONE]" in answer
    assert [(row.error_kind, row.prompt_tokens) for row in recording.rows] == [(None, 3), (None, 3)]
    prefixes = [row.extra["prefix"] for row in recording.rows]
    assert len({json.dumps(prefix) for prefix in prefixes}) == 2  # the pieces were joined before they were described


def test_a_body_is_sent_again_if_the_kept_connection_was_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen_requests = SeenRequests(closes_after_head=0)
    (_, answer), recording = on_its_way(seen_requests, tmp_path)
    assert bytes(seen_requests.bodies[1]) == BODY and b"data: [DONE]" in answer
    assert [row.error_kind for row in recording.rows] == [None, None]
    assert "socket.send" not in caplog.text  # asyncio warns of each piece for a closed connection


def test_a_packed_body_is_unpacked_first(tmp_path: Path) -> None:
    packed, seen_requests = gzip.compress(BODY), SeenRequests()

    async def act(recording: Recording) -> bytes:
        await post(recording)
        reader, writer = await connected(recording, len(packed), "Content-Encoding: gzip\r\n")
        writer.write(packed[:50])
        await asyncio.sleep(WAIT_S)
        writer.write(packed[50:])
        await reader.read()
        writer.close()
        return bytes(seen_requests.bodies[0])

    assert during(seen_requests.script, tmp_path, act)[0] == BODY


def test_a_client_that_goes_within_its_body_costs_one_connection(tmp_path: Path) -> None:
    seen_requests = SeenRequests()

    async def act(recording: Recording) -> tuple[int, int]:
        await post(recording)
        _, writer = await connected(recording, len(BODY))
        writer.write(BODY[:HALF])
        await asyncio.sleep(WAIT_S)
        writer.close()
        await asyncio.sleep(WAIT_S)
        status, (body, _) = await post(recording)
        assert body == SENT
        await recording.recorder.finished.join()
        return status, recording.recorder.held_bytes + recording.recorder.in_flight

    (status, left), recording = during(seen_requests.script, tmp_path, act)
    assert (status, left, seen_requests.lost) == (200, 0, 1)
    assert len(recording.rows) == 2  # without the one that was never sent whole


@pytest.mark.parametrize("sent_bytes", [0, 1000])
def test_an_announced_body_that_is_too_large_never_reaches_the_server(sent_bytes: int, tmp_path: Path) -> None:
    seen_requests = SeenRequests()

    async def act(recording: Recording) -> bytes:
        await post(recording)
        reader, writer = await connected(recording, 2000)
        writer.write(b"x" * sent_bytes)
        answer = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        return answer

    answer, recording = during(seen_requests.script, tmp_path, act, body_bytes=1500)
    assert answer.startswith(b"HTTP/1.1 413 ") and len(seen_requests.bodies) == 1 and not seen_requests.lost
    assert len(recording.rows) == 1


def test_the_head_of_an_answer_does_not_wait_for_its_first_event(tmp_path: Path) -> None:
    may_go_on = asyncio.Event()

    async def act(recording: Recording) -> bytes:
        reader, writer = await connected(recording, len(BODY))
        writer.write(BODY)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        may_go_on.set()
        await reader.read()
        writer.close()
        return head

    head, recording = during(first_the_head(may_go_on), tmp_path, act)
    assert b"text/event-stream" in head and [row.error_kind for row in recording.rows] == [None]


@pytest.mark.parametrize("path", [CHAT, "/v1/messages/count_tokens"])
def test_a_body_counts_until_its_answer_has_ended(path: str, tmp_path: Path) -> None:
    """A body that is not recorded is held while it is forwarded, too."""
    may_go_on = asyncio.Event()

    async def act(recording: Recording) -> tuple[int, int]:
        reader, writer = await connected(recording, len(BODY), path=path)
        writer.write(BODY)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        held_bytes = recording.recorder.held_bytes
        may_go_on.set()
        await reader.read()
        writer.close()
        await recording.recorder.finished.join()
        return held_bytes, recording.recorder.held_bytes

    assert during(first_the_head(may_go_on), tmp_path, act)[0] == (len(BODY), 0)


def test_a_body_is_not_held_twice_while_its_answer_arrives(tmp_path: Path) -> None:
    """What could be sent again is released with the head of the answer."""
    may_go_on = asyncio.Event()
    body = json.dumps({**ASK, "messages": [{"role": "user", "content": "x" * 20_000_000}]}).encode()

    async def act(recording: Recording) -> float:
        packed = gzip.compress(body)
        reader, writer = await connected(recording, len(packed), "Content-Encoding: gzip\r\n")
        tracemalloc.start()
        writer.write(packed)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        held_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        may_go_on.set()
        await reader.read()
        writer.close()
        return held_bytes / len(body)

    assert during(first_the_head(may_go_on), tmp_path, act)[0] < 1.5


def first_the_head(may_go_on: asyncio.Event) -> Script:
    """Return a server that sends events once it is told to."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(STREAM[0])
        await may_go_on.wait()
        writer.write(b"".join(STREAM[1:]))
        await writer.drain()

    return script
