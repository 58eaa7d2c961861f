"""Sends one request to an OpenAI-compatible server and measures its stream; every end of it is a RequestRecord."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import httpx

from analysis.collapse import find_collapse
from domain import JsonValue, utc_now
from engines import BY_NAME
from machine.cpu_wait import cpu_wait
from samples import RequestRecord
from workloads.plan import Endpoint, PhaseKind, PlannedRequest
from workloads.reading import BadStreamError, StreamReading

PATHS: dict[Endpoint, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Target:
    """Where and how requests are sent; `engine` decides which extensions of the API are asked for."""

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


@dataclass(frozen=True, slots=True)
class Place:
    """Which request of the plan this is, and how many run beside it."""

    request_id: str
    load_id: str
    phase: PhaseKind
    phase_title: str
    phase_index: int
    sequence: int
    segment: int
    stream: int
    concurrency: int
    phase_began_s: float  # of the target's monotonic clock


def request_body(target: Target, request: PlannedRequest) -> dict[str, JsonValue]:
    """The JSON to send: the standard's fields, and the engine's own for exact lengths and live token counts."""
    engine = BY_NAME.get(target.engine)
    sampling: dict[str, JsonValue] = {**request.sampling, **(engine.request_extras if engine else {})}
    options: dict[str, JsonValue] = {"include_usage": True, **(engine.stream_options if engine else {})}
    if engine is None or not engine.takes_ignore_eos:
        sampling.pop("ignore_eos", None)  # not in the standard: an unknown server may refuse it
    chat = {"messages": [{"role": "user", "content": request.prompt}]}
    said = chat if target.endpoint == "chat" else {"prompt": request.prompt}
    return {"model": target.model, **said, **sampling, "stream": True, "stream_options": options}


def open_client() -> httpx.AsyncClient:
    """A client that never reuses a connection (llama.cpp drops reused ones now and then) nor goes through a proxy."""
    return httpx.AsyncClient(
        limits=httpx.Limits(max_keepalive_connections=0, max_connections=None),
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),  # stalls are seen per event, in read_stream
        trust_env=False,
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as it went, on the target's clocks; both error fields are None when the stream ended properly."""

    reading: StreamReading
    sent_at: datetime
    sent_s: float
    ended_s: float
    error_kind: str | None
    error_text: str | None


async def exchange(client: httpx.AsyncClient, target: Target, request: PlannedRequest) -> Exchange:
    """Send the request and read its stream to the end, whatever end that is; only a bug of ours raises.

    Cancelling the task, once it runs, gives error_kind 'cancelled' and what was counted until then.
    """
    reading, body = StreamReading(), request_body(target, request)
    sent_at, sent_s = target.utc_now(), target.mono_s()
    with cpu_wait() as waited_s:
        stream = read_stream(client, target, body, reading, waited_s)
        kind, text = await error_of(stream, target.request_timeout_s)
    if text and target.api_key:
        text = text.replace(target.api_key, "<secret>")  # a server may echo it in its refusal
    return Exchange(reading, sent_at, sent_s, target.mono_s(), kind, text)


def record_of(target: Target, request: PlannedRequest, place: Place, went: Exchange) -> RequestRecord:
    """The exchange as a record, its text judged for collapse and then forgotten."""
    reading, sent_s = went.reading, went.sent_s
    body = request_body(target, request)
    return RequestRecord(
        run_id=target.run_id,
        request_id=place.request_id,
        workload=target.workload,
        phase=place.phase,
        prompt_class=request.prompt_class,
        stream=place.stream,
        concurrency=place.concurrency,
        sent_at=went.sent_at,
        ttft_ms=milliseconds(sent_s, reading.first_at_s),
        decode_ms=milliseconds(reading.first_at_s, reading.last_at_s),
        total_ms=milliseconds(sent_s, went.ended_s),
        prompt_tokens=reading.prompt_tokens,
        completion_tokens=reading.completion_tokens,
        token_source=reading.token_source,
        chunks=reading.chunks,
        draft_tokens=reading.draft_tokens,
        accepted_tokens=reading.accepted_tokens,
        finish_reason=reading.finish_reason,
        http_status=reading.http_status,
        error_kind=went.error_kind,
        error_text=went.error_text,
        prompt_hash=request.prompt_hash,
        sampling={key: value for key, value in body.items() if key not in ("model", "messages", "prompt")},
        extra={
            "phase_title": place.phase_title,
            "cached_prompt_tokens": reading.cached_prompt_tokens,
            "first_chunk_tokens": reading.first_chunk_tokens,
            "client_wait_ms": reading.client_wait_ms,
            "collapse": find_collapse("".join(reading.text)).as_json(reading.completion_tokens),
        },
        load_id=place.load_id,
        phase_index=place.phase_index,
        sequence=place.sequence,
        since_phase_s=round(sent_s - place.phase_began_s, 6),
        segment=place.segment,
        chunk_us=reading.chunk_us(sent_s),
        chunk_tokens=reading.chunk_tokens(),
    )


async def error_of(stream: Awaitable[None], limit_s: float) -> tuple[str | None, str | None]:
    """Await the stream; its error kind and one sentence, or two Nones when it came to its proper end."""
    try:
        async with asyncio.timeout(limit_s):
            await stream
    except BadStreamError as error:
        return error.kind, str(error)
    except TimeoutError:
        return "timeout", f"not finished after {limit_s:g} s"
    except asyncio.CancelledError:
        return "cancelled", "the workload was cancelled"
    except httpx.ConnectTimeout:
        return "timeout", f"no connection after {CONNECT_TIMEOUT_S:g} s"
    except httpx.ConnectError as error:
        return "refused", f"no connection: {error}"
    except httpx.DecodingError as error:
        return "malformed", f"cannot decode the answer: {error}"
    except httpx.TransportError as error:
        return "closed", f"{type(error).__name__}: {error}"
    return None, None


async def read_stream(
    client: httpx.AsyncClient,
    target: Target,
    body: Mapping[str, JsonValue],
    reading: StreamReading,
    waited_s: Callable[[], float | None],
) -> None:
    """Post the body and feed every line to `reading`; raises BadStreamError, httpx.TransportError, DecodingError."""
    headers = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
    url = target.base_url.rstrip("/") + PATHS[target.endpoint]
    loop = asyncio.get_running_loop()
    reading.note_wait(waited_s())
    try:
        async with asyncio.timeout(target.stall_timeout_s) as patience:
            async with client.stream("POST", url, json=body, headers=headers) as response:
                reading.http_status = response.status_code
                if response.status_code != httpx.codes.OK:
                    text = (await response.aread()).decode(errors="replace")
                    raise BadStreamError("http", f"HTTP {response.status_code}: {text[:500]}")
                async for line in response.aiter_lines():
                    reading.note_wait(waited_s())
                    if reading.take_line(line, target.mono_s()):
                        patience.reschedule(loop.time() + target.stall_timeout_s)
    except TimeoutError as error:
        silence = f"no event for {target.stall_timeout_s:g} s, after {reading.chunks} chunks"
        raise BadStreamError("stalled", silence) from error
    if not (reading.is_done or reading.finish_reason):
        raise BadStreamError("closed", f"the stream ended without a finish reason, after {reading.chunks} chunks")


def milliseconds(start_s: float | None, end_s: float | None) -> float | None:
    return None if start_s is None or end_s is None else round((end_s - start_s) * 1000, 3)
