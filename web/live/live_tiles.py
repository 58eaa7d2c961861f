"""The numbers of a run on the Live page: of the moment while it is live, of all of it once it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from domain import Run
from reports.runs.run_report import RunReport
from web.live.live_series import RATE_SERIES, Points, Row, finite, keeps_pace, series_of
from web.live.protocol import LivePart, PerPosition, Series, Tile
from web.load_progress import load_under_way
from web.words import told_by_view, why

NOT_ALL_POSITIONS = "not told for all of the run"
NOTHING_YET = "nothing measured yet"
NO_LOAD = "no load is under way"
SERVER_LATENCIES = ("ttft_ms", "itl_ms", "e2e_ms")
NO_HISTOGRAM = "this server counts no latencies of its own"
NOTHING_COUNTED = "its server counted none of these"
NOTHING_OF_LATE = "its server counted none of these in the last minute"


def tiles_of(points: Points, run: Run, absent: Mapping[str, str]) -> dict[str, Tile]:
    """The numbers of the moment while the run is live, their medians once it has ended."""
    series = series_of(points)
    last = _median if run.state.is_final else _newest
    tiles = {name: last(one) for name, one in series.items()}
    if points.host and not run.state.is_final:
        newest = points.host[-1]
        tiles["process_count"] = Tile(v=newest["process_count"], why=None, t=newest["t"])
    for name, reason in absent.items():
        tiles.setdefault(name, Tile(v=None, why=reason))
    for name, reason in _reasons(points.engine).items():
        if name in tiles and tiles[name]["v"] is None:
            tiles[name]["why"] = reason
    return tiles


def load_tile(run: Run) -> dict[str, Tile]:
    """How much of its load is done; unknown again once that is over: a browser keeps what it was told last."""
    progress = load_under_way(run)
    done = progress.done / progress.total if progress and progress.total else None
    return {"load_done_ratio": Tile(v=done, why=None if progress else NO_LOAD)}


def latency_tiles(told: Mapping[str, float | None], is_final: bool) -> dict[str, Tile]:
    """Mean latencies as the server counts them: of the last minute, or of all of a run that has ended."""
    if not told:
        return {f"server_{metric}": Tile(v=None, why=NO_HISTOGRAM) for metric in SERVER_LATENCIES}
    nothing = NOTHING_COUNTED if is_final else NOTHING_OF_LATE
    tiles = {}
    for metric in SERVER_LATENCIES:
        value = told.get(metric)
        tiles[f"server_{metric}"] = Tile(v=value, why=None if value is not None else nothing)
    return tiles


def tell_whole(part: LivePart, report: RunReport) -> None:
    """A run that has ended: what is known of all of it, in place of what came last."""
    part["now"] |= _verdict_tiles(report)
    positions = report.acceptance.per_position
    if positions and all(map(math.isfinite, positions)):
        part["per_position"] = PerPosition(v=positions, why=None)
    elif "per_position" in part:
        part["per_position"] = PerPosition(v=None, why=why(report.acceptance.reason) or NOT_ALL_POSITIONS)


def _verdict_tiles(report: RunReport) -> dict[str, Tile]:
    """Speed, its factors and acceptance of a run that has ended, the same that Compare shows and judges by."""
    factors, unknown = report.summary.factors, why(report.summary.reason)
    tiles = {name: Tile(v=None, why=unknown) for name in RATE_SERIES}
    if factors:
        tiles = {name: Tile(v=finite(getattr(factors, name)), why=why(factors.reason)) for name in RATE_SERIES}
    acceptance = report.acceptance
    # Of the windows of the other tiles where these count drafts: tokens per step stands beside it.
    length = acceptance.length if report.summary.acceptance_length is None else report.summary.acceptance_length
    return tiles | {"acceptance_length": Tile(v=finite(length), why=why(acceptance.reason))}


def _newest(series: Series) -> Tile:
    return Tile(v=series["v"][-1], why=None if series["v"][-1] is not None else NOTHING_YET, t=series["t"][-1])


def _median(series: Series) -> Tile:
    skip = series.get("excluded") or [0] * len(series["v"])
    known = [v for v, excluded in zip(series["v"], skip, strict=True) if v is not None and not excluded]
    return Tile(v=median(known) if known else None, why=None if known else "no active moment was measured")


def _reasons(rows: Sequence[Row]) -> dict[str, str]:
    """Why the newest row leaves its rates unknown."""
    reason = next((row["reason"] for row in reversed(rows) if keeps_pace(row)), None)
    words = told_by_view(reason)
    return dict.fromkeys(RATE_SERIES, words) if words else {}


def per_position(rows: Sequence[Row]) -> PerPosition | None:
    newest = next((row["per_position"] for row in reversed(rows) if row["per_position"]), None)
    if not newest:
        return None
    is_known = all(map(math.isfinite, newest))
    return PerPosition(v=newest if is_known else None, why=None if is_known else "its log states no number")
