"""What is drawn and shown of all of a run that has ended: computed once, and again when more of it has come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import numpy as np

from domain import Run
from reports.formulas import formulas
from reports.runs.ended import EndedReports, OfEnded
from reports.runs.run_report import PEAK_WINDOW_S, RunReport, reports_of
from reports.runs.shelf import Files, Form, Shelf
from storage.ask.queries import Asked, Whole, server_latency, wholes
from web.live.course import Course, StandsFor
from web.live.live_series import courses_of, thinned
from web.live.live_tiles import latency_tiles, measured_tiles, per_position, positions_of_whole, verdict_tiles
from web.live.point_reader import Moments, PointReader
from web.live.protocol import PerPosition, Tile

POINTS = 1000  # of a series: what a chart as wide as the page can tell apart
MOST_RUNS = 64  # kept in memory, the last that were asked for: about 0.2 MB each
# What a drawing follows from beside what a report does.
SOURCES = (
    "analysis/runs/conditions.py",
    "engines/definitions.py",
    "storage/ask/live_queries.py",
    "storage/ask/questions/over_time",
    "storage/ask/questions/measured/server_latency.sql",
    *(f"web/live/{name}.py" for name in ("course", "ended", "live_series", "live_tiles", "point_reader")),
    "web/words.py",
)


@dataclass(frozen=True)
class Drawn:
    """What is drawn and shown of a run: all of it, or what came after a moment."""

    courses: dict[str, Course]
    tiles: dict[str, Tile]
    positions: PerPosition | None
    newest: Mapping[str, datetime | None]


class EndedRuns(OfEnded[Drawn]):
    """Keeps what is drawn of the last runs that were looked at."""

    def __init__(self, files: Files | None = None, reports: EndedReports | None = None) -> None:
        """reports: where they are kept; of it they are asked."""
        super().__init__(partial(wholes_of, reports=reports), MOST_RUNS, shelf=Shelf(files, DRAWN) if files else None)


def _pack(drawn: Drawn) -> bytes:
    """As JSON, in which an unknown value of a course is NaN and none is rounded."""
    courses = {
        name: [course.t.tolist(), course.v.tolist(), course.excluded_codes(), _gathered(course)]
        for name, course in drawn.courses.items()
    }
    newest = {kind: at.isoformat() if at else None for kind, at in drawn.newest.items()}
    return json.dumps([courses, drawn.tiles, drawn.positions, newest]).encode()


def _unpack(run: Run, content: bytes) -> Drawn:
    courses, tiles, positions, newest = json.loads(content)
    return Drawn(
        {name: _course(*columns) for name, columns in courses.items()},
        tiles,
        positions,
        {kind: datetime.fromisoformat(at) if at else None for kind, at in newest.items()},
    )


def _gathered(course: Course) -> list[list[float]] | None:
    held = course.stands_for
    return [held.mean.tolist(), held.count.tolist()] if held else None


def _course(t: list[float], v: list[float], excluded: list[int] | None, gathered: list[list[float]] | None) -> Course:
    times, values = np.array(t, float), np.array(v, float)
    stands_for = StandsFor(*(np.array(one, float) for one in gathered)) if gathered else None
    if excluded is None:
        return Course(times, values, stands_for=stands_for)
    codes = np.array(excluded, int)
    return Course(times, values, codes > 0, codes > 1, stands_for)


DRAWN = Form("drawn", lambda: formulas(*SOURCES), _pack, _unpack)


def wholes_of(store: Asked, runs: Sequence[Run], reports: EndedReports | None = None) -> dict[str, Drawn]:
    """All of runs that have ended, by id, thinned to what a chart can show; computed now."""
    if not runs:
        return {}
    ids = [run.id for run in runs]
    told: dict[str, Whole] = {}

    def make(asked: Asked, unknown: Sequence[Run]) -> dict[str, RunReport]:
        told.update(wholes(asked, [run.id for run in unknown], PEAK_WINDOW_S, with_points=True))
        return {one.run.id: one for one in reports_of(asked, unknown, told)}

    known = reports.prepare(store, runs, make) if reports else make(store, runs)
    engine_points = {run_id: one.points for run_id, one in told.items()}
    points = PointReader().read(store, dict.fromkeys(ids, Moments()), engine_points=engine_points)
    latencies = server_latency(store, ids)
    made = {}
    for report in known.values():
        run_id = report.run.id
        its, courses = points[run_id], courses_of(points[run_id])
        means = {row["metric"]: row["mean_ms"] for row in latencies[run_id]}
        tiles = measured_tiles(its, courses, is_final=True) | latency_tiles(means, is_final=True)
        positions = positions_of_whole(report, per_position(its.engine))
        made[run_id] = Drawn(thinned(courses, POINTS), tiles | verdict_tiles(report), positions, its.newest)
    return made
