"""Search for a server's capacity: the highest concurrency within the limits, found in few rungs."""

from __future__ import annotations

from collections.abc import Mapping

FINENESS = 0.1  # relative precision of the answer


def next_rung(results: Mapping[int, bool], lowest: int, most: int) -> int | None:
    """Return the next concurrency to try; None when the knee is known. results: concurrency -> within the limits.

    It doubles until one fails, then bisects between the highest passed and the lowest failed above it.
    """
    if not results:
        return lowest
    highest_passed, lowest_failed = knee(results), lowest_failure(results)
    if lowest_failed is None:
        return min(max(results) * 2, most) if max(results) < most else None
    if highest_passed is None:
        return max(1, lowest_failed // 2) if lowest_failed > 1 else None
    gap = lowest_failed - highest_passed
    return highest_passed + gap // 2 if gap > max(1, FINENESS * highest_passed) else None


def lowest_failure(results: Mapping[int, bool]) -> int | None:
    """Return the lowest concurrency that broke the limits; None if none did."""
    return min((rung for rung, holds in results.items() if not holds), default=None)


def knee(results: Mapping[int, bool]) -> int | None:
    """Return the highest passed concurrency below every failure; None if even the lowest failed."""
    failed = lowest_failure(results)
    return max((rung for rung, holds in results.items() if holds and (failed is None or rung < failed)), default=None)
