"""The recorder between labelled fakes and real clients: bytes unchanged, records true, hostile ends refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
import stat
from pathlib import Path

import aiohttp
import pytest

from load_records import Load, LoadPhase, Result
from tests.demo_engine import DemoServer
from tests.workloads.recording.recorders import (
    ASK,
    CHAT,
    KEY,
    SENT,
    STREAM,
    Recording,
    during,
    post,
    recorder_of,
)
from tests.workloads.servers import DONE, HEAD, chunk, sends, text_event
from workloads.recording.serve import RecorderBusyError, listening, single_recorder_lock
from workloads.texts.prompt_file import read_sessions


def test_stream_passes_byte_for_byte_and_recorded(tmp_path: Path) -> None:
    (status, (body, headers)), recording = during(sends(*STREAM), tmp_path, post)
    assert (status, body, headers["Content-Type"]) == (200, SENT, "text/event-stream")
    (row,) = recording.rows
    assert (row.completion_tokens, row.prompt_tokens, row.finish_reason, row.chunks) == (7, 3, "stop", 2)
    assert (row.workload, row.phase, row.concurrency, row.error_kind) == ("recorded", "measure", 0, None)
    assert row.ttft_ms is not None and row.total_ms is not None and 0 < row.ttft_ms <= row.total_ms
    assert row.sampling == {"max_tokens": 9, "stream": True}, (
        "of what a client sends, only what is known to be no secret"
    )
    assert row.extra["collapse"]["verdict"] == "none"
    load, *_, phase = (line for line in recording.lines if isinstance(line, Load | LoadPhase))
    assert isinstance(load, Load) and (load.tool, load.load_id) == ("recorder", row.load_id)
    assert isinstance(phase, LoadPhase) and phase.planned_requests == 1
    assert any(isinstance(line, Result) and line.metric == "ttft_ms" for line in recording.lines)


def test_server_gets_original_body_and_our_key(tmp_path: Path) -> None:
    heads: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        heads.extend([head, await reader.readexactly(size)])
        cookie = HEAD.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\nServer: me\r\n\r\n")
        writer.write(cookie + text_event("x", "stop") + DONE)
        await writer.drain()

    body = b'{ "messages":[ {"role":"user","content":"\xc3\xa4"} ],\n"stream" :true}'
    (_, (_, headers)), recording = during(script, tmp_path, lambda r: post(r, body))
    assert heads[1] == body
    assert f"Bearer {KEY}".encode() in heads[0] and recording.token.encode() not in heads[0]
    assert b"cookie" not in heads[0].lower()
    assert "Set-Cookie" not in headers and headers.get("Server") != "me"
    assert "ä" not in recording.recorder.out.read_text(), "text only where it was asked for"


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
def test_whole_answers_are_equal_too(size: int, tmp_path: Path) -> None:
    answer = json.dumps({"choices": [{"message": {"content": "x" * size}, "finish_reason": "stop"}],
                         "usage": {"completion_tokens": 5}}).encode()  # fmt: skip
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
    (status, (body, _)), recording = during(sends(head, answer), tmp_path, lambda r: post(r, {**ASK, "stream": False}))
    assert status == 200 and hashlib.sha256(body).digest() == hashlib.sha256(answer).digest()
    (row,) = recording.rows
    assert (row.completion_tokens, row.ttft_ms, row.chunks, row.error_kind) == (5, None, None, None)


def test_server_error_passes_without_its_key(tmp_path: Path) -> None:
    content = f"wrong key {KEY}".encode()
    head = f"HTTP/1.1 401 No\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    (status, (body, _)), recording = during(sends(head, content), tmp_path, post)
    assert (status, body) == (401, content)
    assert recording.rows[0].error_text == "HTTP 401: wrong key <secret>"
    assert KEY not in recording.recorder.out.read_text()


def test_only_three_addresses_with_token(tmp_path: Path) -> None:
    async def act(recording: Recording) -> list[int]:
        found = [(await post(recording, token="wrong"))[0], (await post(recording, path="/v1/embeddings"))[0]]
        headers = {"Authorization": f"Bearer {recording.token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for method, path in (("GET", "/metrics"), ("GET", CHAT), ("DELETE", CHAT), ("POST", "/v1/models"),
                                 ("POST", "/v1//chat/completions"), ("GET", "/v1/responses"), ("HEAD", "/"),
                                 ("GET", "/v1/models")):  # fmt: skip
                async with session.request(method, recording.url + path) as answer:
                    found.append(answer.status)
        recording.clock_s[0] += 3601
        return [*found, (await post(recording))[0]]

    models = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"data": []}'

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /v1/models HTTP/1.1"), "all else stays here"
        writer.write(models)
        await writer.drain()

    statuses, recording = during(script, tmp_path, act)
    assert statuses == [401, 404, 404, 405, 405, 405, 404, 426, 404, 200, 401], "426: Codex then posts at once"
    assert recording.rows == [] and recording.recorder.count == 0


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    away = b"HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:1/steal\r\nContent-Length: 0\r\n\r\n"
    (status, (body, headers)), recording = during(sends(away), tmp_path, post)
    assert status == 502 and b"redirect" in body and "Location" not in headers
    assert recording.rows[0].error_kind == "http"


def test_dropped_kept_connection_costs_no_request(tmp_path: Path) -> None:
    numbers: list[int] = []  # requests, a connection each entry

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        numbers.append(0)
        for place in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            numbers[-1] += 1
            if len(numbers) == 1 and place == 2:
                return  # the third one finds its connection dropped without a word
            writer.write(b"".join(STREAM))
            await writer.drain()

    async def act(recording: Recording) -> list[int]:
        return [(await post(recording))[0] for _ in range(3)]

    statuses, recording = during(script, tmp_path, act)
    assert statuses == [200, 200, 200]
    assert numbers == [3, 1], "the connection is kept, and the dropped request sent once more on one of its own"
    assert [row.error_kind for row in recording.rows] == [None] * 3


def test_non_api_request_is_passed_on(tmp_path: Path) -> None:
    noise = b"data: {not json}\n\n"

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\xff no json")
        writer.write(HEAD + chunk(noise) + DONE)
        await writer.drain()

    (status, (body, _)), recording = during(script, tmp_path, lambda r: post(r, b"\xff no json"))
    assert (status, body) == (200, noise + b"data: [DONE]\n\n")
    assert recording.rows[0].error_kind == "malformed"


def test_departed_client_cancels_the_request(tmp_path: Path) -> None:
    event = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + text_event("x"))
        await writer.drain()
        while await reader.read(1000):
            pass
        event.set()

    async def act(recording: Recording) -> None:
        headers = {"Authorization": f"Bearer {recording.token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(recording.url + CHAT, json=ASK, headers=headers) as a,
        ):
            await a.content.readany()
        await asyncio.wait_for(event.wait(), 30)

    _, recording = during(script, tmp_path, act)
    assert [row.error_kind for row in recording.rows] == ["cancelled"]


def test_kept_text_is_private_and_replayable(tmp_path: Path) -> None:
    async def act(recording: Recording) -> None:
        first = [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]
        again = [*first, {"role": "assistant", "content": "one two "}, {"role": "user", "content": "b"}]
        for messages in (first, again, [{"role": "user", "content": "other"}]):
            await post(recording, {**ASK, "messages": messages, "tools": [{"type": "function"}]})
            await recording.recorder.finished.join()

    _, recording = during(sends(*STREAM), tmp_path, act, keeps_text=True)
    recorded_text = recording.recorder.recorded_text
    assert recorded_text is not None
    path = recorded_text.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    long, short = read_sessions(str(path))
    assert [m["content"] for m in long.messages] == ["s", "a", "one two ", "b", "one two"]
    assert long.tools == [{"type": "function"}] and len(long.think_s) == 2 and long.think_s[0] == 0.0
    assert [m["role"] for m in short.messages] == ["user", "assistant"]
    assert long.starts_s == 0.0 < long.ends_s <= short.starts_s <= short.ends_s


def test_run_has_one_recorder_and_port_one_owner(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with (
        single_recorder_lock(lock),
        pytest.raises(RecorderBusyError, match="Another recorder"),
        single_recorder_lock(lock),
    ):
        pass
    with single_recorder_lock(tmp_path / "lock"), listening(0) as sock:
        sock.listen()
        with pytest.raises(RecorderBusyError, match="Cannot listen on port"), listening(sock.getsockname()[1]):
            pass


@pytest.mark.engine
def test_real_server_counts_match_the_record(demo_server: DemoServer, tmp_path: Path) -> None:
    before = demo_server.counters()["tokens_predicted_total"]

    async def run() -> Recording:
        async with recorder_of(demo_server.base_url, tmp_path) as recording:
            fields = {**ASK, "max_tokens": 30, "stream_options": {"include_usage": True}}
            answers = await asyncio.gather(*(post(recording, fields) for _ in range(3)))
            assert {status for status, _ in answers} == {200}
        return recording

    rows = asyncio.run(run()).rows
    assert sum(row.completion_tokens or 0 for row in rows) == demo_server.counters()["tokens_predicted_total"] - before
    assert sorted(row.sequence or 0 for row in rows) == [0, 1, 2]
