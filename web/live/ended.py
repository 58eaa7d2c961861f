"""What is drawn and told of all of a run that has ended: computed once, and again when more of it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain import Run
from reports.runs.ended import OfEnded
from reports.runs.run_report import report_on
from storage.ask.queries import Asked, server_latency
from web.live.course import Course
from web.live.live_series import courses_of, thinned
from web.live.live_tiles import latency_tiles, measured_tiles, per_position, positions_of_whole, verdict_tiles
from web.live.point_reader import Moments, PointReader
from web.live.protocol import PerPosition, Tile

POINTS = 1000  # of a series: what a chart as wide as the page can tell apart
MOST_RUNS = 64  # kept, the last that were asked for: about 0.2 MB each


@dataclass(frozen=True)
class Drawn:
    """What is drawn and told of a run: all of it, or what came after a moment."""

    courses: dict[str, Course]
    tiles: dict[str, Tile]
    positions: PerPosition | None
    newest: Mapping[str, datetime | None]


class EndedRuns(OfEnded[Drawn]):
    """Keeps what is drawn of the last runs that were looked at."""

    def __init__(self) -> None:
        super().__init__(wholes_of, MOST_RUNS)


def wholes_of(store: Asked, runs: Sequence[Run]) -> dict[str, Drawn]:
    """All of runs that have ended, by id, thinned to what a chart can show; computed now."""
    if not runs:
        return {}
    ids = [run.id for run in runs]
    points = PointReader().read(store, dict.fromkeys(ids, Moments()))
    latencies = server_latency(store, ids)
    made = {}
    for report in report_on(store, runs):
        run_id = report.run.id
        its, courses = points[run_id], courses_of(points[run_id])
        means = {row["metric"]: row["mean_ms"] for row in latencies[run_id]}
        tiles = measured_tiles(its, courses, is_final=True) | latency_tiles(means, is_final=True)
        told = positions_of_whole(report, per_position(its.engine))
        made[run_id] = Drawn(thinned(courses, POINTS), tiles | verdict_tiles(report), told, its.newest)
    return made
