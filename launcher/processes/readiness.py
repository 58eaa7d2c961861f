"""Readiness of a server: requested over HTTP, never inferred from elapsed time."""

from __future__ import annotations

import socket
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass

import httpx

from machine.bounded_http import BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits
from machine.ports import host_and_port

PROBE_TIMEOUT_S = 2.0
LIMITS = ReadLimits(body_bytes=1 << 20, total_s=PROBE_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Result of one readiness request: an answer, or why there was none."""

    is_ready: bool
    text: str


def probe(url: str) -> ProbeResult:
    """Request the readiness URL; only status 200 means ready."""
    with closing(BoundedHttp(url, connect_s=PROBE_TIMEOUT_S, silence_s=PROBE_TIMEOUT_S)) as server:
        try:
            answer = server.get("", LIMITS)
        except BadAnswerError as error:
            return ProbeResult(False, str(error))
        except (NoAnswerError, httpx.InvalidURL) as error:
            return ProbeResult(False, f"no answer ({error})")
        return ProbeResult(answer.is_ok, f"HTTP {answer.status_code}")


@dataclass
class ReadinessPoll:
    """Polls one URL in the background, one request at a time."""

    pool: Executor
    url: str
    last_answer: str = "no answer yet"
    _pending: Future[ProbeResult] | None = None

    def is_ready(self) -> bool:
        """Whether the newest answer said so; returns immediately."""
        if self._pending is None:
            self._pending = self.pool.submit(probe, self.url)
        if not self._pending.done():
            return False
        answer, self._pending = self._pending.result(), None
        self.last_answer = answer.text
        return answer.is_ready


def accepts_connections(base_url: str) -> bool:
    """Whether something listens at the URL; a server too busy to accept the connection in time counts."""
    try:
        socket.create_connection(host_and_port(base_url), timeout=PROBE_TIMEOUT_S).close()
    except TimeoutError:
        return True
    except (OSError, UnicodeError):  # the latter for an invalid host name
        return False
    return True
