"""The colours of runs that are shown together: a hue per arm, paler for its repeats."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.config_diff import settings_key
from domain import Run
from web.theme import colors_of_runs


def in_distinct_colors(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, coloured by arm as far as their settings and loads tell arms apart."""
    arms = [(settings_key(run.config.model_dump()) or run.id, run.workload_names) for run in runs]
    colors = colors_of_runs([run.color for run in runs], arms)
    return [run.model_copy(update={"color": color}) for run, color in zip(runs, colors, strict=True)]
