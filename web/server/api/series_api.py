"""`GET /series`: runs over time as the charts draw them, all of it or a stretch, thinned to what a chart can show."""

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
from storage.ask.queries import Asked
from web.access.roles import MEMBERS, ROLE_KEY, may_see
from web.context import services
from web.live.ended import EndedRuns
from web.live.protocol import LivePart, encode
from web.live.reader import StoreReader
from web.places import SERIES

MOST_RUNS = 100
MOST_AT_ONCE = 2  # each takes a core while it is read
NOT_SHOWN = "This link does not show all of these runs."
NO_STRETCH = "A stretch has two moments, from and to, in seconds since the epoch, for each run."

Stretch = tuple[datetime, datetime]


def series_route(ended: EndedRuns, base_path: str = "") -> Route:
    """The route: `?run=` each, and of a stretch `from=` and `to=` for each run, in their order.

    It answers {"runs": [snapshot, ...]}, messages as web.live.protocol has them; of a stretch they hold series alone.
    """
    reading = asyncio.Semaphore(MOST_AT_ONCE)

    async def series(request: Request) -> Response:
        run_ids = list(dict.fromkeys(request.query_params.getlist("run")))[:MOST_RUNS]
        if not may_see(request.scope, run_ids):
            return PlainTextResponse(NOT_SHOWN, 404)
        try:
            stretches = _stretches(run_ids, request.query_params.getlist("from"), request.query_params.getlist("to"))
        except (ValueError, OverflowError, OSError):
            return PlainTextResponse(NO_STRETCH, 400)
        async with reading:
            return await run_in_threadpool(_answer, request.scope, run_ids, stretches, ended)

    return Route(f"{base_path}/{SERIES}", series)


def _stretches(run_ids: Sequence[str], began: Sequence[str], ended: Sequence[str]) -> dict[str, Stretch]:
    """The stretch wanted of each run, if not all of it; raises ValueError, OverflowError, OSError for no time."""
    if not began and not ended:
        return {}
    moments = [[datetime.fromtimestamp(float(one), UTC) for one in said] for said in (began, ended)]
    return dict(zip(run_ids, zip(*moments, strict=True), strict=True))


def _answer(scope: Scope, run_ids: Sequence[str], stretches: Mapping[str, Stretch], ended: EndedRuns) -> Response:
    try:
        asked = _asked(scope, run_ids)
        # What is committed is reported by this store alone.
        reader = StoreReader(lambda: asked, ended=ended if asked is services().store else None)
        parts = _stretched(reader, stretches) if stretches else reader.courses(run_ids)
    except PitwallError as error:
        return PlainTextResponse(str(error), 503)
    now = time.time()
    frames = ",".join(encode("snapshot", now, run=run_id, seq=0, **part) for run_id, part in parts.items())
    return Response(f'{{"runs":[{frames}]}}', media_type="application/json", headers={"cache-control": "no-store"})


def _asked(scope: Scope, run_ids: Sequence[str]) -> Asked:
    """What answers: for the operator also about runs of other machines."""
    fleet = services().fleet
    if scope[ROLE_KEY] not in MEMBERS or fleet is None:
        return services().store
    return fleet.asked_about(run_ids)


def _stretched(reader: StoreReader, stretches: Mapping[str, Stretch]) -> dict[str, LivePart]:
    return {
        run_id: LivePart(cursor="", series=reader.stretch(run_id, *stretch)) for run_id, stretch in stretches.items()
    }
