"""A recorder before a fake server, and what it is sent."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from load_records import RequestRecord
from tests.workloads.servers import DONE, HEAD, Script, chunk, event, serving, text_event
from workloads.recording.access import RecorderToken, RecordingLimits
from workloads.recording.recorded_text import RecordedText
from workloads.recording.recorder import Recorder
from workloads.recording.relay import upstream_at
from workloads.recording.serve import listening
from workloads.recording.serve import serving as recording
from workloads.requests.records import Line, parse_line

KEY = "upstream-key-123"
CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True, "max_tokens": 9, "user": "me"}
EVENTS = [text_event("one "), chunk(b": a comment\r\n\r\n"), text_event("two", "stop"),
          event(choices=[], usage={"completion_tokens": 7, "prompt_tokens": 3})]  # fmt: skip
STREAM = (HEAD, *EVENTS, DONE)


@dataclass
class Recording:
    """One that runs: where to send, and what it has written."""

    url: str
    token: str
    recorder: Recorder
    clock_s: list[float]

    @property
    def lines(self) -> list[Line]:
        return [parse_line(line) for line in self.recorder.out.read_text().splitlines()]

    @property
    def rows(self) -> list[RequestRecord]:
        return [line for line in self.lines if isinstance(line, RequestRecord)]


@asynccontextmanager
async def recorder_of(base_url: str, folder: Path, keeps_text: bool = False, **limits: Any) -> AsyncIterator[Recording]:
    clock_s = [time.monotonic()]
    token = RecorderToken(lambda: clock_s[0], clock_s[0] + 3600)
    bounds = replace(RecordingLimits(), **limits)
    recorded_text = RecordedText(folder / "recorded.jsonl", bounds.text_bytes) if keeps_text else None
    async with upstream_at(base_url, KEY, bounds, time.monotonic) as upstream:
        recorder = Recorder("r", folder / "requests.jsonl", upstream, token, bounds, recorded_text)
        recorder.begin()
        with listening(0) as sock:
            async with recording(recorder, sock):
                yield Recording(f"http://127.0.0.1:{sock.getsockname()[1]}", token.value, recorder, clock_s)
        recorder.end()


def during(script: Script, folder: Path, act: Callable[[Recording], Any], **more: Any) -> tuple[Any, Recording]:
    """What `act` gives against a recorder before a fake server; the recording once it has ended."""

    async def run() -> tuple[Any, Recording]:
        async with serving(script) as base_url, recorder_of(base_url, folder, **more) as recording:
            given = await act(recording)
        return given, recording

    return uvloop.run(run())


async def post(recording: Recording, body: object = ASK, path: str = CHAT, token: str | None = None) -> tuple[int, Any]:
    """Status and body bytes of one request."""
    headers = {"Authorization": f"Bearer {token or recording.token}", "Cookie": "secret=1"}
    async with aiohttp.ClientSession() as session:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with session.post(recording.url + path, data=data, headers=headers, allow_redirects=False) as answer:
            return answer.status, (await answer.read(), dict(answer.headers))


def payload(*chunks: bytes) -> bytes:
    """The bytes within pieces of the chunked coding."""
    return b"".join(piece.split(b"\r\n", 1)[1][:-2] for piece in chunks)


SENT = payload(*EVENTS) + b"data: [DONE]\n\n"
