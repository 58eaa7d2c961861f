"""The streaming client: tokens as the server counts them, and a name for every way a stream can fail."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from load_records import RequestRecord
from tests.demo_engine import DemoServer
from tests.ports import free_ports
from tests.workloads.servers import DONE, HEAD, chunk, event, read_request, sends, serving, text_event
from workloads.plan import PlannedRequest
from workloads.requests.answer_stream import StreamReading
from workloads.requests.client import RequestPosition, RequestTarget, exchange, record_of, request_body
from workloads.requests.sending import open_session

REQUEST = PlannedRequest("Code", "Write.", {"max_tokens": 60, "temperature": 0.0, "seed": 7, "ignore_eos": True})
SILENCE_S = 2.0
PLACE = RequestPosition("r-0", "load-1", "measure", "Run 1/1", 1, 0, 1, 0, 1, 0.0)


def target_at(base_url: str, **fields: object) -> RequestTarget:
    target = RequestTarget(run_id="r", workload="w", base_url=base_url, model="m")
    return replace(target, **fields)


async def send(target: RequestTarget) -> RequestRecord:
    async with open_session() as session:
        return record_of(target, REQUEST, PLACE, await exchange(session, target, REQUEST))


def send_to_fake(*pieces: bytes, hold_open: bool = False, **fields: object) -> RequestRecord:
    """A server that falls silent is waited for briefly, any other as long as a busy machine may take."""
    patience = {"stall_timeout_s": SILENCE_S} if hold_open else {}

    async def run() -> RequestRecord:
        async with serving(sends(*pieces, hold_open=hold_open)) as base_url:
            return await send(target_at(base_url, **patience, **fields))

    return asyncio.run(run())


@pytest.mark.engine
@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_counts_equal_the_servers_own_counters(demo_server: DemoServer, endpoint: str) -> None:
    before = demo_server.counters()
    target = target_at(demo_server.base_url, engine="llamacpp", endpoint=endpoint)
    record = asyncio.run(send(target))
    grown = {name: value - before[name] for name, value in demo_server.counters().items()}
    assert record.error_kind is None
    assert (record.completion_tokens, record.token_source) == (60, "usage")
    assert record.completion_tokens == grown["tokens_predicted_total"]
    assert record.prompt_tokens == grown["prompt_tokens_total"] + grown["prompt_tokens_cached_total"]
    assert record.draft_tokens == grown["spec_decode_num_draft_tokens_total"]
    assert record.accepted_tokens == grown["spec_decode_num_accepted_tokens_total"]
    assert record.finish_reason == "length"
    assert record.extra["first_chunk_tokens"] == 1
    assert 0 < record.ttft_ms <= record.ttft_ms + record.decode_ms <= record.total_ms  # equal: all was read at once
    assert 0 <= record.extra["client_wait_ms"] <= record.total_ms


def test_longest_wait_between_lines_is_kept() -> None:
    reading = StreamReading()
    assert reading.client_wait_ms is None
    for waited_s in (5.0, 5.001, 5.251, 5.252):
        reading.note_cpu_wait(waited_s)
    assert reading.client_wait_ms == 250.0
    silent = StreamReading()
    silent.note_cpu_wait(None)
    silent.note_cpu_wait(None)
    assert silent.client_wait_ms is None


def test_tokens_are_never_chunks() -> None:
    pieces = [
        text_event("one two three"),
        text_event(" four", "stop"),
        event(choices=[], usage={"completion_tokens": 9}),
    ]
    record = send_to_fake(HEAD, *pieces, DONE)
    assert (record.chunks, record.completion_tokens, record.token_source) == (2, 9, "usage")


def test_server_without_counts_leaves_unknown() -> None:
    record = send_to_fake(HEAD, text_event("one"), text_event(" two", "stop"), DONE)
    assert (record.error_kind, record.completion_tokens, record.token_source) == (None, None, None)
    assert record.extra["first_chunk_tokens"] is None


def test_live_counts_show_first_chunk_size() -> None:
    first = text_event("a b c", usage={"completion_tokens": 3, "prompt_tokens": 5})
    record = send_to_fake(HEAD, first, text_event(" d", "stop", usage={"completion_tokens": 4}), DONE)
    assert record.extra["first_chunk_tokens"] == 3


def test_role_without_text_is_no_first_token() -> None:
    reading, clock = StreamReading(), itertools.count()
    for line in (
        'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}',
        ": still here",
        'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}',
    ):
        reading.take_line(line, float(next(clock)))
    assert reading.first_at_s == 2.0


def test_times_are_those_of_the_clock_given() -> None:
    ticks = itertools.count(100.0, 0.5)
    record = send_to_fake(
        HEAD, text_event("a"), text_event("b", "stop"), DONE,
        mono_s=lambda: next(ticks), utc_now=lambda: datetime(2026, 11, 20, tzinfo=UTC),
    )  # fmt: skip
    assert record.sent_at == datetime(2026, 11, 20, tzinfo=UTC)
    assert record.ttft_ms < record.total_ms
    assert record.ttft_ms % 500 == record.decode_ms % 500 == record.total_ms % 500 == 0


ERROR_500 = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 9\r\n\r\nno memory"
PACKED = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
ENDLESS = [chunk(b"data: " + b"x" * (1 << 20)), *[chunk(b"x" * (1 << 20))] * 17]
FAILURES = [
    ("malformed", "content encoding gzip", [PACKED, chunk(b"\x1f\x8b")], False),
    ("malformed", "more than 16 MiB in one event", [HEAD, *ENDLESS], False),
    ("http", "HTTP 302", [ELSEWHERE], False),
    ("http", "HTTP 500: no memory", [ERROR_500], False),
    ("closed", "ServerDisconnectedError", [], False),
    ("closed", "", [HEAD, text_event("a")], False),  # dies inside the chunked body
    ("closed", "without a finish reason, after 1 chunks", [HEAD, text_event("a"), chunk(b"")], False),
    ("malformed", "not an event of the API", [HEAD, text_event("a"), chunk(b"data: {\"choi\n\n"), DONE], False),
    ("malformed", "not an event of the API", [HEAD, chunk(b'data: [1]\n\n'), DONE], False),
    ("malformed", "not an event of the API", [HEAD, event(choices=["x"]), DONE], False),
    ("malformed", "not an event of the API", [HEAD, event(choices=[{"delta": 3}]), DONE], False),
    ("http", "out of KV cache", [HEAD, text_event("a"), event(error={"message": "out of KV cache"})], False),
    ("http", "too long", [HEAD, chunk(b'error: {"message":"too long"}\n\n'), DONE], False),
    ("stalled", "no event for 2 s, after 0 chunks", [], True),
    ("stalled", "no event for 2 s, after 1 chunks", [HEAD, text_event("a")], True),
    ("closed", "ClientResponseError", [b"SSH-2.0-OpenSSH\r\n"], False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "pieces", "hold_open"), FAILURES)
def test_every_failure_has_a_name(kind: str, text: str, pieces: list[bytes], hold_open: bool) -> None:
    record = send_to_fake(*pieces, hold_open=hold_open)
    assert record.error_kind == kind
    assert text in (record.error_text or "")
    assert record.total_ms is not None


def test_a_failed_stream_keeps_what_was_counted() -> None:
    counted = text_event("a", timings={"predicted_n": 7, "draft_n": 8, "draft_n_accepted": 3})
    record = send_to_fake(HEAD, counted, hold_open=True)
    assert (record.error_kind, record.completion_tokens, record.token_source) == ("stalled", 7, "timings")
    assert (record.draft_tokens, record.accepted_tokens) == (8, 3)


def test_vllm_last_event_gives_request_drafts() -> None:
    fields = {"num_draft_tokens": 12, "num_accepted_draft_tokens": 9, "num_spec_steps": 3}
    usage = {"prompt_tokens": 4, "completion_tokens": 20}
    last = event(choices=[], usage=usage, metrics={"speculative_decoding": fields})
    record = send_to_fake(HEAD, text_event("a", finish_reason="stop"), last, DONE)
    assert (record.draft_tokens, record.accepted_tokens, record.completion_tokens) == (12, 9, 20)


def test_endless_stream_is_cut_at_the_limit() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while not writer.is_closing():
            writer.write(text_event("again "))
            await asyncio.sleep(0.01)

    async def run() -> RequestRecord:
        async with serving(drip) as base_url:
            return await send(target_at(base_url, request_timeout_s=0.5))

    record = asyncio.run(run())
    assert (record.error_kind, record.error_text) == ("timeout", "not finished after 0.5 s")


def test_comments_do_not_keep_a_stalled_stream() -> None:
    async def comment(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while not writer.is_closing():
            writer.write(chunk(b": ping\n\n"))
            await asyncio.sleep(0.01)

    async def run() -> RequestRecord:
        async with serving(comment) as base_url:
            return await send(target_at(base_url, stall_timeout_s=SILENCE_S))

    assert asyncio.run(run()).error_kind == "stalled"


def test_nobody_listening_is_refused() -> None:
    record = asyncio.run(send(target_at(f"http://127.0.0.1:{free_ports(1)[0]}")))
    assert (record.error_kind, record.http_status) == ("refused", None)


def test_connections_are_single_use_without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_ports(1)[0]}")
    connections: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(str(writer.get_extra_info("peername")))
        while not reader.at_eof():
            await read_request(reader)
            writer.write(HEAD + text_event("a", "stop") + DONE)

    async def run() -> list[str | None]:
        async with serving(answer) as base_url, open_session() as session:
            target = target_at(base_url)
            return [(await exchange(session, target, REQUEST)).error_text for _ in range(3)]

    assert asyncio.run(run()) == [None, None, None]
    assert len(set(connections)) == 3


def test_only_known_engines_get_extensions() -> None:
    standard = {"model", "messages", "max_tokens", "temperature", "seed", "stream", "stream_options"}
    other_request_body = request_body(target_at("http://h"), REQUEST)
    assert set(other_request_body) == standard
    llamacpp = request_body(target_at("http://h", engine="llamacpp"), REQUEST)
    assert set(llamacpp) == standard | {"ignore_eos", "timings_per_token"}
    vllm = request_body(target_at("http://h", engine="vllm"), REQUEST)
    assert vllm["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


def test_key_goes_only_into_the_header() -> None:
    contents: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        contents.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ERROR_500)

    async def run() -> RequestRecord:
        async with serving(note) as base_url:
            return await send(target_at(base_url, api_key="k-123"))

    record = asyncio.run(run())
    assert b"Bearer k-123" in contents[0]
    assert "k-123" not in repr(record)
