"""Short labels of runs' configurations, with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.config_diff import distinct_chips, with_logged_facts
from domain import Run
from reports.runs.run_report import engine_title


def chips_of(runs: Sequence[Run]) -> Mapping[str, list[str]]:
    """Return run id -> labels; runs with unlike configurations that are shown together have unlike labels."""
    configs = [with_logged_facts(run.config.model_dump(), run.logged_facts) for run in runs]
    labels = distinct_chips(configs, [engine_title(run) for run in runs])
    return {run.id: run_labels for run, run_labels in zip(runs, labels, strict=True)}
