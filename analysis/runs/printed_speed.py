"""The speed that a log's lines print, shown if nothing was measured: no window of pure decoding, so never ranked.

Each engine defines it differently (`engines.definitions.MEASURES`): two definitions are never combined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.runs.speed_summary import SpeedSummary


@dataclass(frozen=True, slots=True)
class PrintedSpeed:
    """Printed speed of one log under one definition."""

    definition: str
    median_tps: float  # over the lines with generation
    lines: int  # number of these


def most_printed(speeds: Sequence[PrintedSpeed]) -> PrintedSpeed | None:
    """Return the definition that most lines of a log use; ties are broken by name."""
    return max(speeds, key=lambda speed: (speed.lines, speed.definition), default=None)


def printed_fallback(summary: SpeedSummary, printed: PrintedSpeed | None) -> PrintedSpeed | None:
    """Return the printed speed if the windows give no speed; a measured speed replaces it."""
    return printed if summary.factors is None else None
