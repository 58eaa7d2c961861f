"""Sends one request to an OpenAI-compatible server and measures its answer; every outcome is a RequestRecord."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import aiohttp

from analysis.runs.collapse import find_collapse
from domain import JsonValue, utc_now
from engines import BY_NAME
from load_records import IS_EMPTY, RequestRecord
from machine.cpu_wait import cpu_wait
from workloads.plan import Message, PhaseKind, PlannedRequest
from workloads.requests.answer_stream import StreamReading
from workloads.requests.bodies import messages_body, responses_body, sampling_for
from workloads.requests.exchange import Exchange
from workloads.requests.protocols import HEADERS, PATHS, Endpoint, reading_of
from workloads.requests.sending import PostCall, error_of, read_stream, read_whole
from workloads.requests.token_probe import TokenReading

TEXT_FIELDS = ("model", "messages", "prompt", "tools", "system", "instructions", "input", "input_ids")
BODIES = {"messages": messages_body, "responses": responses_body}


@dataclass(frozen=True)
class RequestTarget:
    """Server and settings of requests; `engine` determines which API extensions are requested."""

    run_id: str
    workload: str
    base_url: str
    model: str
    engine: str = "other"
    endpoint: Endpoint = "chat"
    api_key: str | None = None
    stall_timeout_s: float = 300.0  # without a single event
    request_timeout_s: float = 3600.0
    mono_s: Callable[[], float] = time.monotonic
    utc_now: Callable[[], datetime] = utc_now

    @property
    def url(self) -> str:
        return self.base_url.rstrip("/") + PATHS[self.endpoint]

    @property
    def headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return key | HEADERS.get(self.endpoint, {})


@dataclass(frozen=True, slots=True)
class RequestPosition:
    """Position of a request in its load, and its concurrency."""

    request_id: str
    load_id: str
    phase: PhaseKind
    phase_title: str
    phase_index: int
    sequence: int
    segment: int
    stream: int
    concurrency: int
    phase_began_s: float  # by the target's monotonic clock


def request_body(target: RequestTarget, request: PlannedRequest, preface: str = "") -> dict[str, JsonValue]:
    """Return the JSON to send: standard fields, and the engine's own for exact lengths and live token counts.

    `preface` precedes the text, so that no prefix cache has it.
    """
    engine = BY_NAME.get(target.engine)
    if request.probe and engine and engine.next_token:
        return request.probe.request_body(engine.next_token, target.model)
    if target.endpoint in BODIES:
        messages = [dict(message) for message in _with_preface(request.sent_messages(), preface)]
        fields = BODIES[target.endpoint](messages, request.tools)
        return {
            "model": target.model,
            **fields,
            **sampling_for(target.endpoint, request.sampling),
            "stream": request.is_streamed,
        }
    sampling: dict[str, JsonValue] = {**request.sampling, **(engine.request_extras if engine else {})}
    if engine is None or not engine.takes_ignore_eos:
        sampling.pop("ignore_eos", None)  # not in the standard: an unknown server may reject it
    body: dict[str, JsonValue] = {"prompt": preface + request.text}
    if target.endpoint == "chat":
        body = {"messages": _with_preface(request.sent_messages(), preface)}
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    body = {"model": target.model, **body, **sampling, "stream": request.is_streamed}
    if request.is_streamed:
        body["stream_options"] = {"include_usage": True, **(engine.stream_options if engine else {})}
    return body


def url_of(target: RequestTarget, request: PlannedRequest) -> str:
    """Return the address to which a request is posted."""
    engine = BY_NAME.get(target.engine)
    if request.probe and engine and engine.next_token:
        return target.base_url.rstrip("/") + engine.next_token.PATH
    return target.url


def new_reading(target: RequestTarget, request: PlannedRequest) -> StreamReading:
    """Return an empty reading for the answer to a request."""
    engine = BY_NAME.get(target.engine)
    if request.probe and engine and engine.next_token:
        return TokenReading(api=engine.next_token, part=request.probe.part)
    return reading_of(target.endpoint)


def _with_preface(messages: Sequence[Message], preface: str) -> list[JsonValue]:
    first_message, *later_messages = (dict(message) for message in messages)
    return [
        first_message | ({"content": _add_preface(first_message.get("content"), preface)} if preface else {}),
        *later_messages,
    ]


def _add_preface(content: JsonValue, preface: str) -> JsonValue:
    """Return a message's content, a text or a list of parts, with the preface in front."""
    if isinstance(content, list):
        return [{"type": "text", "text": preface}, *content]
    return f"{preface}{content or ''}"


async def exchange(
    session: aiohttp.ClientSession,
    target: RequestTarget,
    request: PlannedRequest,
    preface: str = "",
    reading: StreamReading | None = None,
) -> Exchange:
    """Send the request and read its answer to the end; failures are returned, not raised.

    `reading` receives the answer, for concurrent observers.
    Cancelling the running task returns error_kind 'cancelled' and what was counted until then.
    """
    reading, body = reading or new_reading(target, request), request_body(target, request, preface)
    read = read_stream if request.is_streamed else read_whole
    sent_at, sent_s = target.utc_now(), target.mono_s()
    with cpu_wait() as cpu_wait_s:
        call = PostCall(
            url_of(target, request), target.headers, body, reading, target.stall_timeout_s, target.mono_s, cpu_wait_s
        )
        kind, text = await error_of(read(session, call), target.request_timeout_s)
    if text and target.api_key:
        text = text.replace(target.api_key, "<secret>")  # a server may echo it in an error
    return Exchange(body, reading, sent_at, sent_s, target.mono_s(), kind, text)


def record_of(
    target: RequestTarget, request: PlannedRequest, position: RequestPosition, finished: Exchange
) -> RequestRecord:
    """Return the record of an exchange; its text is checked for collapse and not stored."""
    reading, sent_s = finished.reading, finished.sent_s
    return RequestRecord(
        run_id=target.run_id,
        request_id=position.request_id,
        workload=target.workload,
        phase=position.phase,
        prompt_class=request.prompt_class,
        stream=position.stream,
        concurrency=position.concurrency,
        sent_at=finished.sent_at,
        ttft_ms=milliseconds(sent_s, reading.first_at_s),
        decode_ms=milliseconds(reading.first_at_s, reading.last_at_s),
        total_ms=milliseconds(sent_s, finished.ended_s),
        prompt_tokens=reading.prompt_tokens,
        completion_tokens=reading.completion_tokens,
        token_source=reading.token_source,
        chunks=reading.chunks if request.is_streamed else None,
        draft_tokens=reading.draft_tokens,
        accepted_tokens=reading.accepted_tokens,
        finish_reason=reading.finish_reason,
        http_status=reading.http_status,
        error_kind=finished.error_kind,
        error_text=finished.error_text,
        prompt_hash=request.prompt_hash,
        sampling={key: value for key, value in finished.body.items() if key not in TEXT_FIELDS},
        extra=_extra_of(request, position, reading),
        load_id=position.load_id,
        phase_index=position.phase_index,
        sequence=position.sequence,
        since_phase_s=round(sent_s - position.phase_began_s, 6),
        segment=position.segment,
        chunk_us=reading.chunk_us(sent_s) if request.is_streamed else None,
        chunk_tokens=reading.chunk_tokens(),
    )


def _extra_of(request: PlannedRequest, position: RequestPosition, reading: StreamReading) -> dict[str, JsonValue]:
    """Return the values without a field of their own in a record, including the collapse check of the text."""
    return {
        "phase_title": position.phase_title,
        "cached_prompt_tokens": reading.cached_prompt_tokens,
        "first_chunk_tokens": reading.first_chunk_tokens,
        "client_wait_ms": reading.client_wait_ms,
        **({"thinking_tokens": reading.thinking_tokens} if reading.thinking_tokens is not None else {}),
        **({"tool_calls": reading.tools.as_json()} if reading.tools.calls else {}),
        **({IS_EMPTY: True} if reading.is_empty else {}),
        **request.facts,
        "collapse": find_collapse("".join(reading.text)).as_json(reading.completion_tokens),
    }


def milliseconds(start_s: float | None, end_s: float | None) -> float | None:
    """Return the time between two clock readings in ms, rounded to 1 us; None if one is unknown."""
    return None if start_s is None or end_s is None else round((end_s - start_s) * 1000, 3)
