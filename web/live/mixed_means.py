"""Mean speeds of ended runs that may not be put into a ratio, on Live as on Compare."""

from __future__ import annotations

from collections.abc import Iterable

from reports.runs.run_report import RunReport

MIXED_MEANS = "a mean over several concurrencies depends on how long each took"


def counts_several_concurrencies(reports: Iterable[RunReport]) -> bool:
    """Whether these runs together have known speeds at several concurrencies, as `has_differences` asks on Compare."""
    concurrencies = {
        speeds.streams
        for report in reports
        for speeds in report.summary.speeds
        if (speeds.typical_tps, speeds.floor_tps, speeds.peak) != (None, None, None)
    }
    return len(concurrencies) > 1
