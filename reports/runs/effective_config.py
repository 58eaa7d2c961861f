"""Requested configuration of a run's server, beside the values that the server logged at its start."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.config_diff import flatten
from analysis.runs.effective_config import EffectiveRow, LogFact, effective_rows
from domain import Run
from reports.runs.run_report import stated_engine
from storage.queries import run_data


def effective_config(store: run_data.Queryable, run: Run) -> tuple[list[EffectiveRow], bool]:
    """Return one row per field, and whether the log contains any start-up fact."""
    facts = run_data.startup_facts(store, [run.id])[run.id]
    return _rows(run, facts), bool(facts)


def effective_configs(store: run_data.Queryable, runs: Sequence[Run]) -> dict[str, list[EffectiveRow]]:
    """Return run id -> one row per field."""
    facts = run_data.startup_facts(store, [run.id for run in runs])
    return {run.id: _rows(run, facts[run.id]) for run in runs}


def _rows(run: Run, facts: Sequence[run_data.StartupRow]) -> list[EffectiveRow]:
    excluded = {"argv"} if stated_engine(run) else {"argv", "engine"}
    requested = flatten(run.config.model_dump(mode="json", exclude=excluded))
    return effective_rows(requested, run.config.engine, [LogFact(*row) for row in facts])
