"""Lines of an access log that are mere probes of the server."""

from __future__ import annotations

import pytest

from engines.access_log import is_poll


@pytest.mark.parametrize(
    "line",
    [
        'INFO:     127.0.0.1:40404 - "GET /metrics HTTP/1.1" 200 OK',
        '(APIServer pid=1) INFO:     172.17.0.1:40404 - "GET /v1/models HTTP/1.1" 200 OK',
        '\x1b[1;36m(APIServer pid=7)\x1b[0;0m INFO:     10.0.0.3:5 - "GET /metrics HTTP/1.1" 200 OK',
        '[2025-11-20 10:00:00] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable',
        "srv  log_server_r: done request: GET /slots 127.0.0.1 200",
        "0.07.359.187 I srv  log_server_r: request: GET /metrics 127.0.0.1 501",
    ],
)
def test_a_look_at_the_server_says_nothing(line: str) -> None:
    assert is_poll(line)


@pytest.mark.parametrize(
    "line",
    [
        'INFO:     127.0.0.1:40404 - "GET /metrics HTTP/1.1" 500 Internal Server Error',
        'INFO:     127.0.0.1:40404 - "POST /v1/completions HTTP/1.1" 200 OK',
        'INFO:     127.0.0.1:40404 - "GET /metrics/other HTTP/1.1" 200 OK',
        "srv  log_server_r: done request: POST /completion 127.0.0.1 200",
        "RuntimeError: GET /metrics failed",
    ],
)
def test_anything_else_is_told(line: str) -> None:
    assert not is_poll(line)
