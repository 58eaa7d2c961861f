"""How many users a server holds: the highest concurrency at which the limits still hold, found in few rungs."""

from __future__ import annotations

from collections.abc import Mapping

FINENESS = 0.1  # the answer is known to within this share of itself


def next_rung(tried: Mapping[int, bool], lowest: int, most: int) -> int | None:
    """The concurrency to try next, given which of those tried held the limits; None when the knee is known.

    It doubles until one fails, then halves the space between the highest that held and the lowest that failed above it.
    """
    if not tried:
        return lowest
    held, failed = knee(tried), lowest_failure(tried)
    if failed is None:
        return min(max(tried) * 2, most) if max(tried) < most else None
    if held is None:
        return max(1, failed // 2) if failed > 1 else None
    gap = failed - held
    return held + gap // 2 if gap > max(1, FINENESS * held) else None


def lowest_failure(tried: Mapping[int, bool]) -> int | None:
    """The lowest concurrency at which the limits did not hold; None where they always held."""
    return min((rung for rung, holds in tried.items() if not holds), default=None)


def knee(tried: Mapping[int, bool]) -> int | None:
    """The highest concurrency below every failure; None where even the lowest failed."""
    failed = lowest_failure(tried)
    return max((rung for rung, holds in tried.items() if holds and (failed is None or rung < failed)), default=None)
