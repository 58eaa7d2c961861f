"""The route `GET /series`: the time series of runs as charts draw them, complete or for an interval, thinned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from errors import PitwallError
from storage.queries.run_data import Queryable
from web.access.roles import MEMBERS, ROLE_KEY, may_see
from web.context import services
from web.live.finished_charts import FinishedCharts
from web.live.protocol import LivePart, encode
from web.live.reader import StoreReader
from web.page_paths import SERIES

MOST_RUNS = 100
MOST_AT_ONCE = 2  # each takes a core while it is read
NOT_SHOWN = "This link does not give access to all of these runs."
NO_INTERVAL = "An interval needs `from` and `to`, in seconds since the epoch, for each run."

Interval = tuple[datetime, datetime]


def series_route(finished: FinishedCharts, base_path: str = "") -> Route:
    """Return the route: one `?run=` per run, and for an interval one `from=` and `to=` per run, in the same order.

    It responds {"runs": [snapshot, ...]} with messages of web.live.protocol; for an interval they hold only series.
    """
    reading = asyncio.Semaphore(MOST_AT_ONCE)

    async def series(request: Request) -> Response:
        run_ids = list(dict.fromkeys(request.query_params.getlist("run")))[:MOST_RUNS]
        if not may_see(request.scope, run_ids):
            return PlainTextResponse(NOT_SHOWN, 404)
        try:
            intervals = _intervals(run_ids, request.query_params.getlist("from"), request.query_params.getlist("to"))
        except (ValueError, OverflowError, OSError):
            return PlainTextResponse(NO_INTERVAL, 400)
        async with reading:
            return await run_in_threadpool(_answer, request.scope, run_ids, intervals, finished)

    return Route(f"{base_path}/{SERIES}", series)


def _intervals(run_ids: Sequence[str], starts: Sequence[str], ends: Sequence[str]) -> dict[str, Interval]:
    """Return intervals by run, none for complete series; raises ValueError, OverflowError, OSError if invalid."""
    if not starts and not ends:
        return {}
    times = [[datetime.fromtimestamp(float(text), UTC) for text in texts] for texts in (starts, ends)]
    return dict(zip(run_ids, zip(*times, strict=True), strict=True))


def _answer(
    scope: Scope, run_ids: Sequence[str], intervals: Mapping[str, Interval], finished: FinishedCharts
) -> Response:
    try:
        source = _source(scope, run_ids)
        # Only the own store reports its commits to the cache.
        reader = StoreReader(lambda: source, finished=finished if source is services().store else None)
        parts = _interval_parts(reader, intervals) if intervals else reader.chart_parts(run_ids)
    except PitwallError as error:
        return PlainTextResponse(str(error), 503)
    now = time.time()
    frames = ",".join(encode("snapshot", now, run=run_id, seq=0, **part) for run_id, part in parts.items())
    return Response(f'{{"runs":[{frames}]}}', media_type="application/json", headers={"cache-control": "no-store"})


def _source(scope: Scope, run_ids: Sequence[str]) -> Queryable:
    """Return the store to read, for members also with the runs of other machines."""
    fleet = services().fleet
    if scope[ROLE_KEY] not in MEMBERS or fleet is None:
        return services().store
    return fleet.queryable_for(run_ids)


def _interval_parts(reader: StoreReader, intervals: Mapping[str, Interval]) -> dict[str, LivePart]:
    return {
        run_id: LivePart(cursor="", series=reader.interval_series(run_id, *interval))
        for run_id, interval in intervals.items()
    }
