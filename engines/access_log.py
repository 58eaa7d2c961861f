"""Recognises access log lines of polling requests to /metrics and the like, which Pitwall sends every second.

uvicorn (vLLM, SGLang, TensorRT-LLM) and llama.cpp's HTTP server write them. Requests answered with a server error do
not count.
"""

from __future__ import annotations

import re

_PATHS = r"/(?:metrics|health|slots|v1/models)/?(?:\?[^\s\"]*)?"
_STATUS = r"(?:200|401|403|404|501|503)"
_POLL = re.compile(
    rf'\S+:\d+ - "GET {_PATHS} HTTP/[\d.]+" {_STATUS}\b'  # uvicorn
    rf"|log_server_r?: (?:done )?request: GET {_PATHS} \S+ {_STATUS}\b"  # llama.cpp
)


def is_poll(line: str) -> bool:
    """Whether the line reports a GET of /metrics, /health, /slots or /v1/models and of nothing else."""
    return "GET /" in line and _POLL.search(line) is not None
