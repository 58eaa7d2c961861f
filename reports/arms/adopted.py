"""Adopted operating points: which stand, and which of them are about given runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from domain import AdoptedPoint, Run
from redaction import mask_text


def standing(points: Iterable[AdoptedPoint]) -> list[AdoptedPoint]:
    """Those whose place no later one took, in the order given."""
    kept = list(points)
    gone = {one.supersedes for one in kept}
    return [one for one in kept if one.id not in gone]


def superseded_by(points: Iterable[AdoptedPoint]) -> dict[str, AdoptedPoint]:
    """Id of a point -> the first one that took its place."""
    by_time = sorted(points, key=lambda one: one.adopted_at, reverse=True)
    return {one.supersedes: one for one in by_time if one.supersedes}


def about(points: Iterable[AdoptedPoint], runs: Sequence[Run]) -> list[AdoptedPoint]:
    """The points that rest on any of these runs, or serve the same configuration as one of them."""
    ids, prints = {run.id for run in runs}, {run.config.fingerprint for run in runs}
    return [one for one in points if ids & set(one.run_ids) or one.config.fingerprint in prints]


def point_words(point: AdoptedPoint, points: Collection[AdoptedPoint] = ()) -> str:
    """'Adopted for coding agents: k 4, by Ada on 22 Nov 2026, resting on 3 runs: fastest at eight users.'"""
    purpose = f" for {point.purpose}" if point.purpose else ""
    runs = "1 run" if len(point.run_ids) == 1 else f"{len(point.run_ids)} runs"
    said = f"Adopted{purpose}: {point.name}, by {point.adopted_by} on {point.adopted_at:%d %b %Y}, resting on {runs}: "
    later = superseded_by(points).get(point.id)
    return said + point.reason + (f" Superseded by {later.name} on {later.adopted_at:%d %b %Y}." if later else "")


def masked(text: str) -> str:
    """What a person wrote, on one line and without secrets."""
    return mask_text(" ".join(text.split()))
