"""The route `GET /metrics`: the current numbers for Prometheus, whose token the access check has verified."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from prometheus_client.exposition import choose_encoder
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from storage.published_query import QUERY_FAILURES
from web.access.api_routes import METRICS_ROUTE
from web.openmetrics.export import Export

KEPT_S = 1.0  # several scrapers at once cost one read
UNREADABLE = "The store cannot be read now; the next scrape tries again.\n"
_log = logging.getLogger(__name__)


class _LatestExport:
    """The last export, read again when it is older than KEPT_S, by one thread at a time."""

    def __init__(self, read: Callable[[], Export]) -> None:
        self._read = read
        self._reading = asyncio.Lock()
        self._export: Export | None = None
        self._read_s = 0.0

    async def get(self) -> Export:
        async with self._reading:
            if self._export is None or time.monotonic() - self._read_s > KEPT_S:
                self._export = await run_in_threadpool(self._read)
                self._read_s = time.monotonic()
            return self._export


def metrics_route(read: Callable[[], Export], base_path: str = "") -> Route:
    """Return the route; the answer is OpenMetrics, or Prometheus' text format for a client that asks for that."""
    latest = _LatestExport(read)

    async def metrics(request: Request) -> Response:
        try:
            export = await latest.get()
        except QUERY_FAILURES as error:
            _log.warning("The metrics could not be read: %s", str(error).splitlines()[0])
            return PlainTextResponse(UNREADABLE, 503)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        headers = {"content-type": content_type, "cache-control": "no-store"}
        return Response(encode(export), headers=headers)

    return Route(f"{base_path}{METRICS_ROUTE}", metrics)
