"""The numbers of a run on the Live page: of the moment while it is live, of all of it once it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from domain import Run
from reports.runs.run_report import RunReport
from web.live.course import Course
from web.live.live_series import RATE_SERIES, Points, finite, keeps_pace
from web.live.protocol import PerPosition, Tile
from web.runs.loads.load_progress import load_under_way
from web.words import reasons_in_words, why

NOT_ALL_POSITIONS = "not reported for all of the run"
NOT_MEASURED = "not measured"
NOTHING_YET = "nothing measured yet"
NO_LOAD = "no load is under way"
SERVER_LATENCIES = ("ttft_ms", "itl_ms", "e2e_ms")
NO_HISTOGRAM = "this server counts no latencies of its own"
NOTHING_COUNTED = "its server counted none of these"
NOTHING_OF_LATE = "its server counted none of these in the last minute"


def measured_tiles(points: Points, courses: Mapping[str, Course], is_final: bool) -> dict[str, Tile]:
    """The numbers of the moment while the run is live, their medians once it has ended."""
    last = _median if is_final else _newest
    tiles = {name: last(course) for name, course in courses.items()}
    if len(points.host) and not is_final:
        (newest,) = points.host.slice(len(points.host) - 1).to_pylist()
        tiles["process_count"] = Tile(v=newest["process_count"], why=None, t=newest["t"])
    for name, reason in _reasons(points.engine).items():
        if name in tiles and tiles[name]["v"] is None:
            tiles[name]["why"] = reason
    return tiles


def absent_tiles(absent: Mapping[str, str]) -> dict[str, Tile]:
    """What a run cannot have, with the reason: where nothing was measured."""
    return {name: Tile(v=None, why=reason) for name, reason in absent.items()}


def load_tile(run: Run) -> dict[str, Tile]:
    """How much of its load is done; unknown again once that is over: a browser keeps what it was sent last."""
    progress = load_under_way(run)
    done = progress.done / progress.total if progress and progress.total else None
    return {"load_done_ratio": Tile(v=done, why=None if progress else NO_LOAD)}


def latency_tiles(latencies: Mapping[str, float | None], is_final: bool) -> dict[str, Tile]:
    """Mean latencies as the server counts them: of the last minute, or of all of a run that has ended."""
    if not latencies:
        return {f"server_{metric}": Tile(v=None, why=NO_HISTOGRAM) for metric in SERVER_LATENCIES}
    nothing = NOTHING_COUNTED if is_final else NOTHING_OF_LATE
    tiles = {}
    for metric in SERVER_LATENCIES:
        value = latencies.get(metric)
        tiles[f"server_{metric}"] = Tile(v=value, why=None if value is not None else nothing)
    return tiles


def positions_of_whole(report: RunReport, last: PerPosition | None) -> PerPosition | None:
    """Acceptance by position over all of a run that has ended, in place of what its engine gave last."""
    positions = report.acceptance.per_position
    if positions and all(map(math.isfinite, positions)):
        return PerPosition(v=positions, why=None)
    return PerPosition(v=None, why=why(report.acceptance.reason) or NOT_ALL_POSITIONS) if last else None


def verdict_tiles(report: RunReport) -> dict[str, Tile]:
    """Speed, its factors and acceptance of a run that has ended, the same that Compare shows and judges by."""
    factors, unknown = report.summary.factors, why(report.summary.reason)
    tiles = {name: Tile(v=None, why=unknown) for name in RATE_SERIES}
    if factors:
        tiles = {name: Tile(v=finite(getattr(factors, name)), why=why(factors.reason)) for name in RATE_SERIES}
    acceptance = report.acceptance
    # Of the windows of the other tiles where these count drafts: tokens per step stands beside it.
    length = acceptance.length if report.summary.acceptance_length is None else report.summary.acceptance_length
    return tiles | {"acceptance_length": Tile(v=finite(length), why=why(acceptance.reason))}


def per_position(rows: pa.Table) -> PerPosition | None:
    """What the newest row says that has positions."""
    having = rows.filter(pc.greater(pc.list_value_length(rows["per_position"]), 0))
    if not len(having):
        return None
    newest = having["per_position"][-1].as_py()
    is_known = all(value is not None and math.isfinite(value) for value in newest)
    return PerPosition(v=newest if is_known else None, why=None if is_known else "its log states no number")


def _newest(course: Course) -> Tile:
    value = None if np.isnan(course.v[-1]) else float(course.v[-1])
    return Tile(v=value, why=None if value is not None else NOTHING_YET, t=float(course.t[-1]))


def _median(course: Course) -> Tile:
    known = course.v[~np.isnan(course.v) & (True if course.excluded is None else ~course.excluded)]
    if not len(known):
        return Tile(v=None, why=NOT_MEASURED if course.excluded is None else "no active moment was measured")
    return Tile(v=float(np.median(known)), why=None)


def _reasons(rows: pa.Table) -> dict[str, str]:
    """Why the newest row leaves its rates unknown."""
    paced = rows["reason"].filter(keeps_pace(rows))
    words = reasons_in_words(paced[-1].as_py() if len(paced) else None)
    return dict.fromkeys(RATE_SERIES, words) if words else {}
