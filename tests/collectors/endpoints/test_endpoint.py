"""Endpoints that answer, refuse, garble and vanish. The server is the FAKE of conftest.py;
what it says of engines is captured from real ones. The real llama.cpp server is in test_real_server.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.base import Clock, OutageError, UnavailableError, UnreadableError
from collectors.endpoints.endpoint import EndpointCollector
from domain import Config, Run, RunState
from samples import CounterSample, Event, SlotSample

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "metrics"
LLAMACPP = (FIXTURES / "llamacpp-draft.txt").read_bytes()
SLOTS = (FIXTURES / "llamacpp-slots-busy.json").read_bytes()


@pytest.fixture
def collector() -> EndpointCollector:
    return EndpointCollector()


def samples(collector: EndpointCollector, run: Run) -> list[Any]:
    return [sample for batch in collector.collect(run) for sample in batch.samples]


def test_counters_and_slots_of_one_turn(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    server.answers = {"/metrics": (200, LLAMACPP), "/slots": (200, SLOTS)}
    counter, *slots = samples(collector, make_run(base_url=server.url))
    assert isinstance(counter, CounterSample) and counter.generation_tokens_total == 450
    assert all(isinstance(s, SlotSample) for s in slots)
    assert [s.n_decoded for s in slots] == [None, None, 606, None]
    assert {s.decode_calls_total for s in slots} == {188}
    assert server.asked == ["/metrics", "/slots"], "gauges start anew at each scrape: one a tick"


def test_rank_missing_in_a_scrape_is_unknown(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    run = make_run("vllm", base_url=server.url)
    rank = 'vllm:generation_tokens_total{{engine="{}"}} 50\n'
    server.answers = {"/metrics": (200, (rank.format(0) + rank.format(1)).encode())}
    assert [s.engine_index for s in samples(collector, run)] == [0, 1]
    server.answers = {"/metrics": (200, rank.format(0).encode())}
    there, missing = samples(collector, run)
    assert (there.engine_index, there.generation_tokens_total) == (0, 50)
    assert (missing.engine_index, missing.generation_tokens_total, missing.definition) == (1, None, "vllm.counter")
    assert missing.mono_s == there.mono_s


def test_a_dropped_connection_is_tried_once_more(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    server.answers, server.drops = {"/metrics": (200, LLAMACPP), "/slots": (200, SLOTS)}, 1
    assert len(samples(collector, make_run(base_url=server.url))) == 5
    server.drops = 2
    with pytest.raises(OutageError, match="does not answer"):
        samples(collector, make_run(base_url=server.url))


def test_garbage_is_one_clear_sentence(server: Any, collector: EndpointCollector, make_run: Callable[..., Run]) -> None:
    run = make_run("vllm", base_url=server.url)
    server.answers = {"/metrics": (200, b"<html>\x00\xff it works!</html>")}
    with pytest.raises(UnreadableError, match=r"^/metrics returned something other than metrics: '<html>"):
        samples(collector, run)
    server.answers = {"/metrics": (200, b"vllm:num_requests_running{engine= 1\n")}
    with pytest.raises(UnreadableError, match=r"^/metrics cannot be read: "):
        samples(collector, run)
    server.answers = {"/metrics": (200, b"")}
    with pytest.raises(UnreadableError, match="other than metrics: nothing"):
        samples(collector, run)


def test_metrics_without_the_engines_counters(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    server.answers = {"/metrics": (200, b"# TYPE python_info gauge\npython_info 1\n")}
    with pytest.raises(UnavailableError, match="exports no vLLM counters; it may run with --disable-log-stats"):
        samples(collector, make_run("vllm", base_url=server.url))


def test_a_lapse_of_the_counters_is_asked_again_at_once(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    """Only a source that does not exist waits for a minute."""
    run = make_run(base_url=server.url)
    server.answers = {"/metrics": (200, LLAMACPP), "/slots": (200, SLOTS)}
    assert samples(collector, run)
    server.answers |= {"/metrics": (200, b"# TYPE python_info gauge\npython_info 1\n")}
    with pytest.raises(UnreadableError, match=r"exported no llama.cpp counters this time"):
        samples(collector, run)


@pytest.mark.parametrize(("engine", "status", "switch"), [("sglang", 404, "--enable-metrics"), ("vllm", 404, "")])
def test_switched_off_metrics_say_what_to_do(
    server: Any,
    collector: EndpointCollector,
    make_run: Callable[..., Run],
    engine: str,
    status: int,
    switch: str,
) -> None:
    server.answers = {"/metrics": (status, b"")}
    with pytest.raises(UnavailableError, match=rf"^/metrics is switched off.*{switch}"):
        samples(collector, make_run(engine, base_url=server.url))


def test_llamacpp_without_metrics_uses_slots(server: Any, make_run: Callable[..., Run]) -> None:
    seconds = [100.0]
    collector, run = EndpointCollector(Clock(mono_s=lambda: seconds[0])), make_run(base_url=server.url)
    server.answers = {"/metrics": (501, b"{}"), "/slots": (200, SLOTS)}
    *slots, told = samples(collector, run)
    assert len(slots) == 4 and slots[0].decode_calls_total is None
    assert isinstance(told, Event) and "start the server with --metrics" in told.text
    assert len(samples(collector, run)) == 4, "told once"
    assert server.asked == ["/metrics", "/slots", "/slots"], "and not asked again each second"
    server.answers["/metrics"] = (200, LLAMACPP)
    seconds[0] += 61
    assert isinstance(samples(collector, run)[0], CounterSample), "but looked for again"


def test_absent_server_is_an_outage_after_start(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    server.close()
    assert samples(collector, make_run(base_url=server.url, state=RunState.STARTING)) == []
    with pytest.raises(OutageError, match=r"^http://127.0.0.1:\d+ does not answer: connection refused$"):
        samples(collector, make_run(base_url=server.url))
    assert list(collector.finish(make_run(base_url=server.url))) == []


def test_server_death_after_answer_is_an_outage(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    run = make_run(base_url=server.url, state=RunState.STARTING)
    server.answers = {"/metrics": (200, LLAMACPP), "/slots": (200, SLOTS)}
    assert samples(collector, run)
    server.answers = {"/metrics": (500, b"")}
    with pytest.raises(OutageError, match="500 Internal Server Error"):
        samples(collector, run)
    assert samples(collector, make_run(base_url=server.url, state=RunState.STOPPING)) == [], "it was stopped"


def test_a_starting_server_may_say_503(server: Any, collector: EndpointCollector, make_run: Callable[..., Run]) -> None:
    server.answers = {"/metrics": (503, b'{"error":{"message":"Loading model"}}')}
    assert samples(collector, make_run(base_url=server.url, state=RunState.STARTING)) == []
    with pytest.raises(OutageError, match="503 Service Unavailable"):
        samples(collector, make_run(base_url=server.url))


def test_what_cannot_be_collected_is_said(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    assert samples(collector, make_run()) == [], "no address yet"
    with pytest.raises(UnavailableError, match="no counters are known for this kind of server"):
        samples(collector, make_run("other", base_url=server.url))
    with pytest.raises(UnavailableError, match="no counters are known for TensorRT-LLM"):
        samples(collector, make_run("trtllm", base_url=server.url))
    server.answers = {"/metrics": (401, b"")}
    with pytest.raises(UnavailableError, match="requires an API key"):
        samples(collector, make_run("vllm", base_url=server.url))


def test_known_api_key_is_sent_but_not_shown(server: Any, make_run: Callable[..., Run]) -> None:
    server.answers = {"/metrics": (200, LLAMACPP), "/slots": (200, SLOTS)}
    collector = EndpointCollector(api_key_of=lambda run_id: "k-123")
    assert samples(collector, make_run(base_url=server.url))
    assert server.keys == {"Bearer k-123"}
    server.answers = {"/metrics": (401, b"k-123"), "/slots": (401, b"")}
    with pytest.raises(UnavailableError, match="rejected the API key") as refused:
        samples(collector, make_run(base_url=server.url))
    assert "k-123" not in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"unknown_flags": ("--sleep-idle-seconds 60",)},
        {"env": {"LLAMA_ARG_SLEEP_IDLE_SECONDS": "60"}},
        {"launcher": "attach"},  # its command is not known
    ],
)
def test_slots_of_a_server_that_may_sleep_are_read_around_its_requests_only(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run], fields: dict[str, Any]
) -> None:
    """A read of the slots wakes it or restarts its idle time."""
    config = Config(engine="llamacpp", **fields)
    run = make_run(base_url=server.url).model_copy(update={"config": config})
    busy = LLAMACPP.replace(b"llamacpp:requests_processing 0", b"llamacpp:requests_processing 1")
    assert busy != LLAMACPP
    for metrics in (LLAMACPP, busy, LLAMACPP, LLAMACPP):
        server.answers = {"/metrics": (200, metrics), "/slots": (200, SLOTS)}
        samples(collector, run)
    assert server.asked == ["/metrics", "/metrics", "/slots", "/metrics", "/slots", "/metrics"]


def test_router_is_told_apart_from_an_outage(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    refusal = b'{"error":{"code":400,"message":"model name is missing from the request"}}'
    server.answers = {"/metrics": (400, refusal), "/slots": (400, refusal)}
    with pytest.raises(UnavailableError, match="the server is a router"):
        samples(collector, make_run(base_url=server.url))


def test_slots_of_an_attached_server_without_counters_are_read(
    server: Any, collector: EndpointCollector, make_run: Callable[..., Run]
) -> None:
    """They are all that shows its requests."""
    run = make_run(base_url=server.url).model_copy(update={"config": Config(engine="llamacpp", launcher="attach")})
    server.answers = {"/metrics": (501, b"{}"), "/slots": (200, SLOTS)}
    assert [s.n_decoded for s in samples(collector, run) if isinstance(s, SlotSample)] == [None, None, 606, None]
