"""Servers that answer without an end, too much, too packed, too slowly or never: each is one sentence on its own run.

The server is a FAKE that means harm, tests/hostile_server.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collectors.base import CollectorError, OutageError, UnreadableError
from collectors.endpoints import endpoint
from collectors.endpoints.endpoint import EndpointCollector
from collectors.endpoints.identify import NotServingError, identify
from collectors.loop import CollectorLoop
from domain import Run
from launcher.processes.readiness import probe
from samples import CollectorHealth, CounterSample, Event
from tests.hostile_server import FUSE_S, MIB, HostileServer, hostile_server

pytestmark = pytest.mark.wide

MOST_SENT = 48 * MIB  # of the body that is read, and what fits into the sockets' buffers
SENTENCES = {
    "endless": "/metrics is larger than the limit of 16 MiB",
    "large": "/metrics is larger than the limit of 16 MiB",
    "bomb": "/metrics is larger than the limit of 16 MiB",
    "nothing_packed": "/metrics is larger than the limit of 16 MiB",
    "other_packing": "/metrics has the content encoding 'br', which was not requested",
    "drip": "/metrics was not complete within the limit of 5 s",
    "drip_head": "/metrics was not complete within the limit of 5 s",
    "endless_head": "does not answer",
    "silent": "does not answer: no answer in time",
    "redirect": "/metrics answers 302 Found",
    "nested": "/metrics returned something other than metrics",
}


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    with hostile_server() as server:
        yield server


@pytest.mark.parametrize(("way", "sentence"), SENTENCES.items())
def test_a_scrape_ends_with_a_sentence(
    hostile: HostileServer, make_run: Callable[..., Run], way: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.way = way
    if "larger than" in sentence:  # a busy machine may take longer to read that much than is waited for
        monkeypatch.setattr(endpoint, "LIMITS", endpoint.LIMITS._replace(total_s=FUSE_S - 10))
    with pytest.raises(CollectorError, match=sentence) as error:
        list(EndpointCollector().collect(make_run("vllm", base_url=hostile.url)))
    assert isinstance(error.value, OutageError | UnreadableError)
    assert hostile.sent < MOST_SENT, "it was read on"
    assert not hostile.over.is_set()


def test_the_others_are_sampled_while_one_drips(
    hostile: HostileServer, server: Any, kept: Any, make_run: Callable[..., Run]
) -> None:
    hostile.way = "drip"
    server.answers = {"/metrics": (200, b'vllm:generation_tokens_total{engine="0"} 1.0\n')}
    bad, good = make_run("vllm", id="bad", base_url=hostile.url), make_run("vllm", id="good", base_url=server.url)
    loop = CollectorLoop(kept, lambda: [bad, good], [EndpointCollector(period_s=0.02)], update_every_s=0.02)
    loop.start()
    kept.wait_for(lambda: [e for e in kept.of(Event) if e.run_id == "bad"], timeout_s=FUSE_S - 10)
    loop.stop(1.0)
    assert {sample.run_id for sample in kept.of(CounterSample)} == {"good"}
    assert len(kept.of(CounterSample)) > 5
    assert [h.error for h in kept.of(CollectorHealth) if h.run_id == "bad"] == [SENTENCES["drip"]]


@pytest.mark.parametrize("way", sorted(set(SENTENCES) - {"redirect", "nested"}))
def test_server_probe_ends_with_a_sentence(hostile: HostileServer, way: str) -> None:
    hostile.way = way
    with pytest.raises(NotServingError) as refused:
        identify(hostile.url)
    assert hostile.url in str(refused.value)
    assert hostile.sent < MOST_SENT


@pytest.mark.parametrize("way", ["redirect", "nested"])
def test_what_is_no_list_of_models_is_no_server(hostile: HostileServer, way: str) -> None:
    hostile.way = way
    with pytest.raises(NotServingError, match=r"is not an OpenAI-compatible server: /v1/models returned"):
        identify(hostile.url)
    assert hostile.sent < MOST_SENT


@pytest.mark.parametrize("way", sorted(set(SENTENCES) - {"nested"}))
def test_a_server_that_answers_so_is_not_ready(hostile: HostileServer, way: str) -> None:
    hostile.way = way
    actual_probe = probe(hostile.url + "/health")
    assert not actual_probe.is_ready and actual_probe.text
    assert hostile.sent < MOST_SENT
