"""What is drawn and told of all of a run that has ended: computed once, and again when more of it has come."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain import Run
from reports.runs.run_report import report_on
from storage.ask.queries import Asked, server_latency
from web.live.course import Course
from web.live.live_series import courses_of, thinned
from web.live.live_tiles import latency_tiles, measured_tiles, per_position, positions_of_whole, verdict_tiles
from web.live.point_reader import Moments, PointReader
from web.live.protocol import PerPosition, Tile

POINTS = 1000  # of a series: what a chart as wide as the page can tell apart
MOST_RUNS = 64  # kept, the last that were asked for: about 0.2 MB each
Stage = tuple[str, datetime | None, datetime | None]


@dataclass(frozen=True)
class Whole:
    """All of a run that has ended, thinned to what a chart can show."""

    courses: dict[str, Course]
    tiles: dict[str, Tile]
    positions: PerPosition | None
    newest: dict[str, datetime | None]


class EndedRuns:
    """Keeps the last runs that were looked at; safe from any thread. Tell it what is `committed`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Stage, Whole]] = OrderedDict()
        self._under_way: list[set[str]] = []  # what has changed since each computation began

    def committed(self, run_ids: Iterable[str]) -> None:
        """More of these runs has been stored."""
        with self._lock:
            for changed in self._under_way:
                changed.update(run_ids)
            for run_id in run_ids:
                self._kept.pop(run_id, None)

    def of(self, store: Asked, runs: Sequence[Run]) -> dict[str, Whole]:
        """Of each of these runs, which have ended, by its id."""
        changed = set[str]()
        with self._lock:
            found = {run.id: self._kept[run.id][1] for run in runs if self._has(run)}
            self._under_way.append(changed)
        try:
            made = wholes_of(store, [run for run in runs if run.id not in found])
            self._keep([run for run in runs if run.id in made], made, changed)
        finally:
            with self._lock:
                self._under_way = [one for one in self._under_way if one is not changed]
        return found | made

    def _keep(self, runs: Sequence[Run], made: Mapping[str, Whole], changed: Container[str]) -> None:
        """All but those of which more came meanwhile."""
        with self._lock:
            self._kept |= {run.id: (_stage(run), made[run.id]) for run in runs if run.id not in changed}
            while len(self._kept) > MOST_RUNS:
                self._kept.popitem(last=False)

    def _has(self, run: Run) -> bool:
        if run.id not in self._kept or self._kept[run.id][0] != _stage(run):
            return False
        self._kept.move_to_end(run.id)
        return True


def wholes_of(store: Asked, runs: Sequence[Run]) -> dict[str, Whole]:
    """By id, computed now."""
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
        made[run_id] = Whole(thinned(courses, POINTS), tiles | verdict_tiles(report), told, its.newest)
    return made


def _stage(run: Run) -> Stage:
    """What of a run's own row the computed depends on."""
    return run.state, run.ready_at, run.ended_at
