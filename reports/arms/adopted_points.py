"""Adopted operating points: the active ones, and those that concern given runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from domain import AdoptedPoint, Run
from redaction import mask_text


def active_points(points: Iterable[AdoptedPoint]) -> list[AdoptedPoint]:
    """Return the points that no later point supersedes, in the given order."""
    all_points = list(points)
    superseded_ids = {point.supersedes for point in all_points}
    return [point for point in all_points if point.id not in superseded_ids]


def successors(points: Iterable[AdoptedPoint]) -> dict[str, AdoptedPoint]:
    """Return point id -> the first point that superseded it."""
    by_time = sorted(points, key=lambda point: point.adopted_at, reverse=True)
    return {point.supersedes: point for point in by_time if point.supersedes}


def points_about(points: Iterable[AdoptedPoint], runs: Sequence[Run]) -> list[AdoptedPoint]:
    """Return the points based on any of these runs, or with the same configuration as one of them."""
    run_ids, fingerprints = {run.id for run in runs}, {run.config.fingerprint for run in runs}
    return [point for point in points if run_ids & set(point.run_ids) or point.config.fingerprint in fingerprints]


def describe_point(point: AdoptedPoint, points: Collection[AdoptedPoint] = ()) -> str:
    """Return 'Adopted for coding agents: k 4, by Ada on 22 Nov 2026, based on 3 runs: fastest at eight users.'"""
    purpose = f" for {point.purpose}" if point.purpose else ""
    runs = "1 run" if len(point.run_ids) == 1 else f"{len(point.run_ids)} runs"
    text = f"Adopted{purpose}: {point.name}, by {point.adopted_by} on {point.adopted_at:%d %b %Y}, based on {runs}: "
    later = successors(points).get(point.id)
    return text + point.reason + (f" Superseded by {later.name} on {later.adopted_at:%d %b %Y}." if later else "")


def mask_line(text: str) -> str:
    """Return a person's text on one line and without secrets."""
    return mask_text(" ".join(text.split()))
