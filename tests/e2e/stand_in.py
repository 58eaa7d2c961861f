"""A stand-in for a vLLM server: `python tests/e2e/stand_in.py PORT LOG LINES_PER_S`.

It answers /health and /metrics, which count 100 tokens a second by the monotonic clock, and writes numbered throughput
lines in vLLM's words; nothing in it is an engine.
"""

from __future__ import annotations

import http.server
import itertools
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

LINE = (
    "(APIServer pid=1) INFO {now:%m-%d %H:%M:%S} [loggers.py:310] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: {number:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, "
    "Prefix cache hit rate: 0.0%\n"
)
METRICS = """# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} 1.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_count{{engine="0",model_name="m"}} 1.0
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_count{{engine="0",model_name="m"}} {tokens}
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = METRICS.format(tokens=float(int(time.monotonic() * 100))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: the tests kill clients on purpose."""


def main() -> None:
    port, log, lines_per_s = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with log.open("a", buffering=1) as file:
        for number in itertools.count():
            file.write(LINE.format(now=datetime.now(UTC), number=number))
            time.sleep(1 / lines_per_s)


if __name__ == "__main__":
    main()
