"""One recording of a run: takes clients' requests, passes them on, and writes a record of each."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from aiohttp import web
from pydantic import BaseModel, Field, ValidationError

from analysis.loads.load_results import results_of
from domain import JsonValue, utc_now
from load_records import Load, LoadPhase, RequestRecord
from settings import VERSION
from workloads.plan import AS_THEY_ARRIVE, PlannedRequest
from workloads.recording.access import Limits, Token
from workloads.recording.kept_text import KeptText
from workloads.recording.relay import Relayed, Upstream
from workloads.requests.client import PATHS, Place, Target, record_of
from workloads.requests.exchange import Exchange
from workloads.requests.records import append_record
from workloads.texts.prompt_file import ChatMessage

TOOL, WORKLOAD, TITLE = "recorder", "recorded", "As it came"
KEPT_FIELDS = (
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "n",
    "stream",
)


class Ended(NamedTuple):
    """One exchange that is over, to be recorded."""

    body: bytes
    went: Exchange
    path: str
    sequence: int


class Asked(BaseModel):
    """What is read of a client's request; it is passed on whatever it holds."""

    messages: list[ChatMessage] = Field(default_factory=list)
    tools: list[ChatMessage] | None = None
    prompt: JsonValue = None
    stream: bool | None = None


@dataclass
class Recorder:
    """Takes requests and writes records; `run_id` and `out` as a load's."""

    run_id: str
    out: Path
    upstream: Upstream
    token: Token
    limits: Limits
    kept: KeptText | None = None
    mono_s: Callable[[], float] = time.monotonic
    utc_now: Callable[[], datetime] = utc_now
    load_id: str = field(default_factory=lambda: secrets.token_hex(4))
    records: list[RequestRecord] = field(default_factory=list)
    tasks: set[asyncio.Task[object]] = field(default_factory=set)
    ended: asyncio.Queue[Ended] = field(default_factory=asyncio.Queue)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    count: int = 0

    def begin(self) -> None:
        """Say that a recording begins."""
        self.began_at, self.began_s = self.utc_now(), self.mono_s()
        kept: dict[str, JsonValue] = {"keeps_text": self.kept is not None}
        append_record(
            self.out,
            Load(self.run_id, self.load_id, self.began_at, TOOL, WORKLOAD, tool_version=VERSION, params=kept),
        )

    def end(self) -> None:
        """Say how it went, once nothing is under way."""
        duration_s = round(self.mono_s() - self.began_s, 6)
        phase = LoadPhase(
            self.run_id, self.load_id, self.utc_now(), 0, TITLE, "measure", AS_THEY_ARRIVE, self.began_at, duration_s,
            0.0, self.count, is_complete=True,
        )  # fmt: skip
        append_record(self.out, phase)
        for result in results_of(self.load_id, self.utc_now(), self.records):
            append_record(self.out, result)
        if self.kept:
            self.kept.save()

    async def models(self, request: web.Request) -> web.StreamResponse:
        """Pass the question for the models on; it is no load, and is not recorded."""
        return self._refused(request) or await self._under_way(self.upstream.pass_on(request, b"", Relayed()))

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on and record it."""
        if refusal := self._refused(request):
            return refusal
        try:
            async with asyncio.timeout(self.limits.body_s):
                body = await request.read()
        except TimeoutError:
            return web.json_response({"error": "The body did not come in time."}, status=408)
        self.count += 1
        return await self._under_way(self._recorded(request, body, self.count - 1))

    async def _under_way(self, answer: Coroutine[Any, Any, web.StreamResponse]) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        try:
            return await answer
        finally:
            self.tasks.discard(task)

    async def _recorded(self, request: web.Request, body: bytes, sequence: int) -> web.StreamResponse:
        relayed, sent_at, sent_s = Relayed(), self.utc_now(), self.mono_s()
        try:
            return await self.upstream.pass_on(request, body, relayed)
        except asyncio.CancelledError:
            relayed.fail("cancelled", "the client went away, or the recording ended")
            raise
        finally:
            text = self.upstream.masked(relayed.error_text) if relayed.error_text else None
            went = Exchange({}, relayed.reading, sent_at, sent_s, self.mono_s(), relayed.error_kind, text)
            self.ended.put_nowait(Ended(body, went, request.path, sequence))

    async def write(self) -> None:
        """Record what ends, one after the other, in a thread; raises OSError."""
        while True:
            one = await self.ended.get()
            await asyncio.to_thread(self._keep, one)
            self.ended.task_done()

    def _keep(self, one: Ended) -> None:
        """Record one exchange, and keep its text where that was asked for."""
        asked, rest = asked_of(one.body)
        planned = PlannedRequest(
            "Recorded", json.dumps(asked.prompt) if asked.prompt else "", {}, messages=tuple(asked.messages),
            tools=tuple(asked.tools or ()), is_streamed=bool(asked.stream),
        )  # fmt: skip
        went = replace(one.went, body=rest)
        record = record_of(self._target(one.path), planned, self._place(one.sequence), went)
        append_record(self.out, record)
        self.records.append(replace(record, chunk_us=None, chunk_tokens=None))
        if self.kept and asked.messages and not went.error_kind:
            self.kept.add(asked.messages, asked.tools or (), went.reading, went.sent_s, went.ended_s)

    def _target(self, path: str) -> Target:
        endpoint = next(name for name, known in PATHS.items() if known == path)
        return Target(self.run_id, WORKLOAD, self.upstream.base_url, "", endpoint=endpoint)

    def _place(self, sequence: int) -> Place:
        request_id = f"{self.load_id}-{sequence:04d}"
        return Place(request_id, self.load_id, "measure", TITLE, 0, sequence, 0, sequence, AS_THEY_ARRIVE, self.began_s)

    def _refused(self, request: web.Request) -> web.Response | None:
        """The answer to a client that may not send, or not now."""
        if why := self.token.refusal(request.headers.get("Authorization")):
            return web.json_response({"error": {"message": why, "type": "recorder"}}, status=401)
        if self.count >= self.limits.requests or len(self.tasks) >= self.limits.at_once:
            return web.json_response({"error": {"message": "The recorder is at its limit."}}, status=429)
        return None


def asked_of(body: bytes) -> tuple[Asked, dict[str, JsonValue]]:
    """What a body asks, and its sampling; of one that is none of the API's, nothing."""
    try:
        given = orjson.loads(body)
        orjson.dumps(given)  # what is nested too deep to be written again is not read
        asked = Asked.model_validate(given)
    except (ValidationError, ValueError, TypeError):
        return Asked(), {}
    return asked, {name: given[name] for name in KEPT_FIELDS if isinstance(given.get(name), int | float)}
