"""The speed that a log's own lines print, shown where nothing was measured: no window of pure decoding, so no rank.

Each engine means something else by it (`engines.definitions.MEASURES`): two definitions are never one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.runs.windows import SpeedSummary


@dataclass(frozen=True, slots=True)
class PrintedSpeed:
    """What the lines of one log say under one definition."""

    definition: str
    median_tps: float  # over the lines on which the server generated
    lines: int  # of these


def most_printed(speeds: Sequence[PrintedSpeed]) -> PrintedSpeed | None:
    """The definition that most lines of a log use; a tie goes by name."""
    return max(speeds, key=lambda one: (one.lines, one.definition), default=None)


def in_place_of(summary: SpeedSummary, printed: PrintedSpeed | None) -> PrintedSpeed | None:
    """What a log prints, where its windows give no speed; what was measured stands alone."""
    return printed if summary.typical_tps is None else None
