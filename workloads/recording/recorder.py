"""Records clients' requests for a run: forwards them to the server and writes a record of each."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import orjson

from analysis.loads.load_results import results_of
from analysis.sessions.prompt_part import PREFIX
from domain import JsonValue, utc_now
from load_records import RECORDED, Load, LoadPhase, RequestRecord
from settings import VERSION
from workloads.plan import AS_THEY_ARRIVE, PlannedRequest
from workloads.recording.access import RecorderToken, RecordingLimits
from workloads.recording.client_connection import ClientConnection, ClientRequestError
from workloads.recording.prompt_history import PromptHistory
from workloads.recording.recorded_text import RecordedText
from workloads.recording.relay import RelayedAnswer, Upstream
from workloads.recording.upstream_connection import UpstreamRequest
from workloads.requests.chat_form import chat_form
from workloads.requests.client import RequestPosition, RequestTarget, record_of
from workloads.requests.exchange import Exchange
from workloads.requests.protocols import PATHS, Endpoint, reading_of
from workloads.requests.records import append_record

TOOL, TITLE = "recorder", "As it came"
BUSY = "The recorder holds as many bytes as it may: try again in a moment."
SAMPLING_FIELDS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "n",
    "stream",
)


@dataclass(frozen=True, slots=True)
class RecordedPhase:
    """Labels of what a recorder records: the workload, the phase's title and index, and the class of its prompts."""

    workload: str = RECORDED
    title: str = TITLE
    index: int = 0
    prompt_class: str = "Recorded"


class SentBody(NamedTuple):
    """The body of a request in pieces, and when the last one was sent to the server."""

    pieces: list[bytes]
    sent_at: datetime
    sent_s: float

    @property
    def size(self) -> int:
        return sum(len(piece) for piece in self.pieces)


class FinishedExchange(NamedTuple):
    """A completed exchange that is to be recorded."""

    sent_body: SentBody
    exchange: Exchange
    path: str
    sequence: int


@dataclass
class Recorder:
    """Forwards requests and writes records; `run_id` and `out` as in a load's job."""

    run_id: str
    out: Path
    upstream: Upstream
    token: RecorderToken
    limits: RecordingLimits
    recorded_text: RecordedText | None = None
    mono_s: Callable[[], float] = time.monotonic
    utc_now: Callable[[], datetime] = utc_now
    load_id: str = field(default_factory=lambda: secrets.token_hex(4))
    phase: RecordedPhase = RecordedPhase()
    records: list[RequestRecord] = field(default_factory=list)
    history: PromptHistory = field(default_factory=PromptHistory)
    finished: asyncio.Queue[FinishedExchange] = field(default_factory=asyncio.Queue)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    count: int = 0
    in_flight: int = 0
    held_bytes: int = 0  # of bodies; one that is still to arrive counts as long as it says it is

    def begin(self) -> None:
        """Write the load record of the recording."""
        self.start_clock()
        params: dict[str, JsonValue] = {"keeps_text": self.recorded_text is not None}
        append_record(
            self.out,
            Load(self.run_id, self.load_id, self.began_at, TOOL, RECORDED, tool_version=VERSION, params=params),
        )

    def start_clock(self) -> None:
        """Begin the phase that is recorded."""
        self.began_at, self.began_s = self.utc_now(), self.mono_s()

    def end(self) -> None:
        """Write phase and results, once no request is in flight."""
        self.end_phase(is_complete=True)
        for result in results_of(self.load_id, self.utc_now(), self.records):
            append_record(self.out, result)
        if self.recorded_text:
            self.recorded_text.save()

    def end_phase(self, is_complete: bool) -> None:
        """Write the record of the phase."""
        duration_s = round(self.mono_s() - self.began_s, 6)
        phase = LoadPhase(
            self.run_id, self.load_id, self.utc_now(), self.phase.index, self.phase.title, "measure", AS_THEY_ARRIVE,
            self.began_at, duration_s, 0.0, self.count, is_complete=is_complete,
        )  # fmt: skip
        append_record(self.out, phase)

    async def pass_through(self, client: ClientConnection) -> None:
        """Forward a request for the models or for a count of tokens, which is not recorded."""
        request = self._request_of(client)
        try:
            sent_body = await self._send_body(client, request)
            try:
                await self._forward(request, client, RelayedAnswer())
            finally:
                self.held_bytes -= sent_body.size
        finally:
            request.end()

    async def refuse_websocket(self, client: ClientConnection) -> None:
        """Send a client that asks for a WebSocket to plain requests: Codex then uses them at once, without retries."""
        self._request_of(client)
        client.refuse(HTTPStatus.UPGRADE_REQUIRED, "The recorder has no WebSocket: post the request.")

    async def post(self, client: ClientConnection) -> None:
        """Forward a request and record it."""
        request = self._request_of(client)
        try:
            await self._record_answer(request, client, await self._send_body(client, request))
        finally:
            request.end()

    async def _record_answer(self, request: UpstreamRequest, client: ClientConnection, sent_body: SentBody) -> None:
        """Forward the answer to a request that was sent, and have both recorded."""
        sequence, self.count = self.count, self.count + 1
        relayed_answer = RelayedAnswer(reading_of(endpoint_of(client.path)))
        try:
            await self._forward(request, client, relayed_answer)
        except asyncio.CancelledError:
            relayed_answer.fail("cancelled", "the client disconnected, or the recording ended")
            raise
        finally:
            text = self.upstream.mask_key(relayed_answer.error_text) if relayed_answer.error_text else None
            exchange = Exchange(
                {}, relayed_answer.reading, sent_body.sent_at, sent_body.sent_s, self.mono_s(),
                relayed_answer.error_kind, text,
            )  # fmt: skip
            self.finished.put_nowait(FinishedExchange(sent_body, exchange, client.path, sequence))

    def _request_of(self, client: ClientConnection) -> UpstreamRequest:
        """Return the request of a client that may send now; raises ClientRequestError."""
        if reason := self.token.refusal(client.headers.get("authorization"), client.headers.get("x-api-key")):
            raise ClientRequestError(HTTPStatus.UNAUTHORIZED, reason)
        if self.count >= self.limits.requests or self.in_flight >= self.limits.concurrent_requests:
            raise ClientRequestError(HTTPStatus.TOO_MANY_REQUESTS, "The recorder is at its limit.")
        return self.upstream.request_of(client)

    async def _send_body(self, client: ClientConnection, request: UpstreamRequest) -> SentBody:
        """Send the client's body to the server; it counts as held until it is recorded. Raises ClientRequestError."""
        expected_bytes = self.limits.body_bytes if client.content_length is None else client.content_length
        if self.held_bytes + expected_bytes > self.limits.held_bytes:
            raise ClientRequestError(HTTPStatus.TOO_MANY_REQUESTS, BUSY)
        self.held_bytes += expected_bytes
        size = 0
        try:
            if client.has_body:
                sent_body = self._send_whole(await client.read_body(), request)
            else:
                sent_body = await self._send_as_it_arrives(client, request)
            size = sent_body.size
        finally:
            self.held_bytes += size - expected_bytes
        return sent_body

    def _send_whole(self, data: bytes, request: UpstreamRequest) -> SentBody:
        sent_body = SentBody([data], self.utc_now(), self.mono_s())
        request.begin(len(data), data)
        return sent_body

    async def _send_as_it_arrives(self, client: ClientConnection, request: UpstreamRequest) -> SentBody:
        """Send each piece on at once, unless the body has to be unpacked first or its size is not known."""
        try:
            async with asyncio.timeout(self.limits.body_s):
                if client.content_length is None or not client.is_plain:
                    return self._send_whole(await client.read_body(), request)
                pieces: list[bytes] = []

                def send(piece: bytes) -> None:
                    pieces.append(piece)
                    request.send(piece)

                pieces.append(client.divert_body(send))
                request.begin(client.content_length, pieces[0])
                await client.wait_for_body()
                return SentBody(pieces, self.utc_now(), self.mono_s())
        except TimeoutError as error:
            raise ClientRequestError(HTTPStatus.REQUEST_TIMEOUT, "The body did not arrive in time.") from error

    async def _forward(self, request: UpstreamRequest, client: ClientConnection, relayed_answer: RelayedAnswer) -> None:
        self.in_flight += 1
        try:
            await self.upstream.pass_on(request, client, relayed_answer)
        finally:
            self.in_flight -= 1

    async def write(self) -> None:
        """Record completed exchanges one after the other, in a thread; raises OSError."""
        while True:
            finished_exchange = await self.finished.get()
            await asyncio.to_thread(self._record, finished_exchange)
            self.held_bytes -= finished_exchange.sent_body.size
            self.finished.task_done()

    def _record(self, finished_exchange: FinishedExchange) -> None:
        """Record one exchange, and store its text if requested."""
        body_json = parse_body(b"".join(finished_exchange.sent_body.pieces), self.limits.body_values)
        chat = chat_form(endpoint_of(finished_exchange.path), body_json)
        prompt = body_json.get("prompt")
        planned = PlannedRequest(
            self.phase.prompt_class, json.dumps(prompt) if prompt else "", {},
            messages=chat.messages, tools=chat.tools, is_streamed=body_json.get("stream") is True,
        )  # fmt: skip
        exchange = replace(finished_exchange.exchange, body=sampling_of(body_json))
        record = record_of(
            self._target(finished_exchange.path), planned, self._position(finished_exchange.sequence), exchange
        )
        if body_json:
            prefix = self.history.describe(record.request_id, endpoint_of(finished_exchange.path), body_json)
            record = replace(record, extra=record.extra | {PREFIX: prefix})
        append_record(self.out, record)
        extra = {name: value for name, value in record.extra.items() if name != PREFIX}
        self.records.append(replace(record, chunk_us=None, chunk_tokens=None, extra=extra))
        if self.recorded_text and chat.messages and not exchange.error_kind:
            self.recorded_text.add(chat, exchange.reading, exchange.sent_s, exchange.ended_s)

    def _target(self, path: str) -> RequestTarget:
        return RequestTarget(self.run_id, self.phase.workload, self.upstream.base_url, "", endpoint=endpoint_of(path))

    def _position(self, sequence: int) -> RequestPosition:
        in_phase = f"{self.phase.index}-{sequence:04d}" if self.phase.index else f"{sequence:04d}"
        return RequestPosition(
            f"{self.load_id}-{in_phase}", self.load_id, "measure", self.phase.title, self.phase.index, sequence,
            0, sequence, AS_THEY_ARRIVE, self.began_s,
        )  # fmt: skip


def endpoint_of(path: str) -> Endpoint:
    """Return the protocol of a path of PATHS."""
    return next(name for name, known_path in PATHS.items() if known_path == path)


def parse_body(body: bytes, most_values: int) -> dict[str, JsonValue]:
    """Return a body's fields; empty if it is no JSON object, has too many values or is nested too deeply.

    Values are counted by their signs, those within texts too: commas count a tenth.
    """
    if body.count(b"{") + body.count(b"[") + body.count(b",") // 10 > most_values:
        return {}
    try:
        body_json = orjson.loads(body)
        orjson.dumps(body_json)  # rejects what is nested too deeply to be written again
    except (ValueError, TypeError):
        return {}
    return body_json if isinstance(body_json, dict) else {}


def sampling_of(body_json: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a body's sampling fields."""
    return {name: body_json[name] for name in SAMPLING_FIELDS if isinstance(body_json.get(name), int | float)}
