"""The log of a running llama.cpp server says what its client was told."""

from __future__ import annotations

import httpx
import pytest

from engines.base import ParsedSample
from tests.demo_engine import DemoServer, wait_until

pytestmark = pytest.mark.engine
TOKENS = 37  # no other test asks for so many


def test_log_agrees_with_client_count(demo_server: DemoServer, read_log) -> None:
    body = {"prompt": "Tell me", "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
    answer = httpx.post(f"{demo_server.base_url}/v1/completions", json=body, timeout=60).json()
    timings = answer["timings"]

    def sample() -> ParsedSample | None:
        samples = read_log("llamacpp", demo_server.log.read_bytes()).samples
        whole = (s for s in samples if "drafted_tokens" in s.fields)  # the draft's line is written last
        return next((s for s in whole if s.fields["generated_tokens"] == TOKENS), None)

    wait_until(lambda: sample() is not None)
    fields = sample().fields
    assert fields["prompt_tokens"] == timings["prompt_n"]
    assert fields["generated_tokens"] == answer["usage"]["completion_tokens"] == timings["predicted_n"]
    assert fields["generation_tps"] == pytest.approx(timings["predicted_per_second"], abs=0.006)
    assert fields["accepted_tokens"] == timings["draft_n_accepted"]
    assert fields["drafted_tokens"] == timings["draft_n"]
    startup = read_log("llamacpp", demo_server.log.read_bytes()).reading.startup
    assert {"ready": True, "max_running_requests": 4, "context_len": 4096}.items() <= startup.items()
