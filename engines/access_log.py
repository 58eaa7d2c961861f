"""Recognises access log lines of polling requests to /metrics and the like, which Pitwall itself sends every second.

They are written by uvicorn (vLLM, SGLang, TensorRT-LLM) and by llama.cpp's HTTP server. A request that was answered
with a server error is not one of them.
"""

from __future__ import annotations

import re

_PATHS = r"/(?:metrics|health|slots|v1/models)/?(?:\?[^\s\"]*)?"
_STATUS = r"(?:200|401|403|404|501|503)"
_LOOK = re.compile(
    rf'\S+:\d+ - "GET {_PATHS} HTTP/[\d.]+" {_STATUS}\b'  # uvicorn
    rf"|log_server_r?: (?:done )?request: GET {_PATHS} \S+ {_STATUS}\b"  # llama.cpp
)


def is_look(line: str) -> bool:
    """Whether the line reports a GET of /metrics, /health, /slots or /v1/models and of nothing else."""
    return "GET /" in line and _LOOK.search(line) is not None
