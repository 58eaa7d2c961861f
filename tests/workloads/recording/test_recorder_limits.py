"""Faults of clients and servers end at a limit, are reported, and end no recording."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.workloads.recording.recorders import (
    ASK,
    CHAT,
    STREAM,
    Recording,
    during,
    post,
)
from tests.workloads.servers import HEAD, sends, text_event
from workloads.recording.access import RecorderToken
from workloads.texts.prompt_file import read_sessions

pytestmark = pytest.mark.wide


def test_a_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (status, _), recording = during(sends(*STREAM), tmp_path, lambda r: post(r, b"x" * 20_000), body_bytes=10_000)
    assert status == 413 and recording.rows == []


def test_packed_bodies_are_unpacked_up_to_the_limit(tmp_path: Path) -> None:
    """zstd is refused: nothing here unpacks it."""
    plain = json.dumps(ASK).encode()
    bodies = [("gzip", gzip.compress(plain)), ("deflate", zlib.compress(plain)), ("gzip", b"nonsense"),
              ("gzip", gzip.compress(b"x" * 1_000_000)), ("zstd", plain)]  # fmt: skip

    async def act(recording: Recording) -> list[tuple[int, bool]]:
        answers = []
        for encoding, body in bodies:
            headers = {"Authorization": f"Bearer {recording.token}", "Content-Encoding": encoding}
            async with (
                aiohttp.ClientSession() as session,
                session.post(recording.url + CHAT, data=body, headers=headers) as answer,
            ):
                answers.append((answer.status, b"Server got itself in trouble" in await answer.read()))
        return answers

    answers, recording = during(sends(*STREAM), tmp_path, act, body_bytes=500_000)
    assert answers == [(200, False), (200, False), (400, False), (413, False), (400, False)]
    assert recording.recorder.held_bytes == 0 and len(recording.rows) == 2
    assert {row.sampling["max_tokens"] for row in recording.rows} == {9}


def test_a_body_that_never_ends_is_refused(tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        host, port = recording.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {recording.token}\r\nContent-Length: 99\r\n\r\n"
        )
        writer.write(head.encode() + b'{"mess')
        data = await reader.read()
        writer.close()
        return data

    data, recording = during(sends(*STREAM), tmp_path, act, body_s=0.3)
    assert data.startswith(b"HTTP/1.1 408") and recording.rows == []


def test_a_head_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    async def act(recording: Recording) -> bytes:
        host, port = recording.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost:")
        data = await reader.read()
        writer.close()
        return data

    data, _ = during(sends(*STREAM), tmp_path, act, head_s=0.3)
    assert data == b""


@pytest.mark.parametrize(
    ("pieces", "holds_open", "limits", "kind"),
    [
        ((HEAD, text_event("cut")), True, {"silence_s": 0.3}, "timeout"),
        ((HEAD, *[text_event("x" * 1000)] * 50), True, {"answer_bytes": 20_000}, "closed"),
        ((HEAD, text_event("cut")), False, {}, "closed"),
        ((HEAD, text_event("cut"), b"no chunk at all\r\n"), True, {}, "closed"),
    ],
)
def test_server_without_proper_end_is_cut_off(
    pieces: tuple[bytes, ...], holds_open: bool, limits: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    async def act(recording: Recording) -> bool:
        try:
            return (await post(recording))[0] == 502  # where it was seen before anything was passed on
        except aiohttp.ClientError:
            return True

    was_cut, recording = during(sends(*pieces, hold_open=holds_open), tmp_path, act, **limits)
    assert was_cut
    assert recording.rows[0].error_kind == kind and recording.rows[0].finish_reason is None


@pytest.mark.parametrize(
    "head", [b"no http at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 50_000 + b"\r\n\r\n", b""]
)
def test_non_http_server_is_reported_to_client(head: bytes, tmp_path: Path) -> None:
    (status, (body, _)), recording = during(sends(head), tmp_path, post)
    assert (status, json.loads(body)["error"]["type"]) == (502, "recorder")
    assert recording.rows[0].error_kind == "closed"


HOSTILE = [
    b"", b"null", b"[]", b'{"messages": null, "stream": true}', b'{"messages": [{}], "tools": "x"}',
    b'{"messages": [{"role": "user", "content": "\\ud800"}], "stream": true}',
    b'{"messages": [{"role": "user", "n": 123456789012345678901234567890}], "stream": true}',
    b'{"messages": [], "max_tokens": 1e999, "stream": true}', b'{"prompt": [1, 2], "temperature": NaN}',
    b'{"messages": [' + b"[" * 5000 + b"]" * 5000 + b"]}", b'{"messages": [{"a": ' + b"[" * 200 + b"]" * 200 + b"}]}",
    b'{"messages": [{"a": ' + b"[" * 950 + b"]" * 950 + b"}]}", b'{"prompt": ' + b"[" * 1000 + b"]" * 1000 + b"}",
    json.dumps({"messages": [{"role": "assistant", "content": "x" * 1000}] * 500, "stream": True}).encode(),
]  # fmt: skip


def test_no_body_of_a_client_ends_the_recording(tmp_path: Path) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        sizes = [line for line in head.split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(sizes[0].split(b":")[1]) if sizes else 0)
        writer.write(b"".join(STREAM))
        await writer.drain()

    async def act(recording: Recording) -> list[int]:
        return [(await post(recording, body))[0] for body in HOSTILE]

    statuses, recording = during(script, tmp_path, act, keeps_text=True)
    assert statuses == [200] * len(HOSTILE)
    assert len(recording.rows) == len(HOSTILE)
    assert {row.completion_tokens for row in recording.rows} == {7}


def test_kept_text_has_a_bound(tmp_path: Path) -> None:
    async def act(recording: Recording) -> None:
        for word in ("a" * 500, "b" * 500):
            await post(recording, {**ASK, "messages": [{"role": "user", "content": word}]})

    _, recording = during(sends(*STREAM), tmp_path, act, keeps_text=True, text_bytes=800)
    recorded_text = recording.recorder.recorded_text
    assert recorded_text is not None and recorded_text.left_out == 1
    assert len(read_sessions(str(recorded_text.path))) == 1


def test_requests_have_a_limit(tmp_path: Path) -> None:
    async def act(recording: Recording) -> list[int]:
        return [(await post(recording))[0] for _ in range(3)]

    statuses, _ = during(sends(*STREAM), tmp_path, act, requests=2)
    assert statuses == [200, 200, 429]


def test_bodies_that_wait_have_a_limit_in_bytes(tmp_path: Path) -> None:
    """A body counts before it is read; when it is recorded, the next one may come."""

    async def act(recording: Recording) -> list[int]:
        statuses = [(await post(recording, {**ASK, "user": "x" * 3000}))[0], (await post(recording))[0]]
        await recording.recorder.finished.join()
        return [*statuses, recording.recorder.held_bytes, (await post(recording))[0]]

    answers, recording = during(sends(*STREAM), tmp_path, act, held_bytes=1000)
    assert answers == [429, 200, 0, 200] and len(recording.rows) == 2


def test_a_body_of_too_many_values_is_forwarded_unparsed(tmp_path: Path) -> None:
    async def act(recording: Recording) -> int:
        return (await post(recording, {**ASK, "messages": [{}] * 300}))[0]

    status, recording = during(sends(*STREAM), tmp_path, act, body_values=200)
    assert status == 200 and recording.rows[0].sampling == {}


def test_a_header_that_is_no_text_is_refused() -> None:
    """The server decodes bytes that are no UTF-8 as surrogates."""
    token = RecorderToken(lambda: 0.0, 3600.0)
    assert token.refusal(b"Bearer \xff\xfe".decode(errors="surrogateescape")) is not None
    assert token.refusal(f"Bearer {token.value}") is None
