"""A request's own text in vLLM's log is its author's: it means nothing, whatever stands before it."""

from __future__ import annotations

import pytest

SPOKEN = (
    "Application startup complete",
    "EngineCore failed to start.",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "GPU KV cache size: 5 tokens",
)
RECORDS = (
    "INFO 05-20 01:43:25 [logger.py:43] Received request cmpl-1: prompt: '{}', params: SamplingParams(n=1)",
    "INFO 05-20 01:43:25 logger.py:37] Received request cmpl-1: prompt: '{}', params: SamplingParams(n=1)",
    'INFO:     1.2.3.4:5 - "GET /v1/models?q={} HTTP/1.1" 200 OK',
)
HEADS = ("", "(APIServer pid=1) ", "vllm-1  | ", "2026-05-20T01:43:25.123456789Z stderr F ")


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("record", RECORDS)
def test_a_request_cannot_speak_for_the_server(head: str, record: str, read_log) -> None:
    log = read_log("vllm", "".join(f"{head}{record.format(text)}\n" for text in SPOKEN))
    assert (log.events, log.reading.startup, log.reading.errors) == ([], {}, [])
