"""What was asked of a run's server, and beside it what the server says it started with."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.config_diff import flatten
from analysis.runs.effective import Row, Told, effective_rows
from domain import Run
from storage.ask import queries


def effective_config(store: queries.Asked, run: Run) -> tuple[list[Row], bool]:
    """A row a field, and whether the log has said anything of how the server started."""
    told = queries.startup_facts(store, [run.id])[run.id]
    return _rows(run, told), bool(told)


def effective_configs(store: queries.Asked, runs: Sequence[Run]) -> dict[str, list[Row]]:
    """The same of several runs, by their ids."""
    told = queries.startup_facts(store, [run.id for run in runs])
    return {run.id: _rows(run, told[run.id]) for run in runs}


def _rows(run: Run, told: Sequence[queries.StartupRow]) -> list[Row]:
    asked = flatten(run.config.model_dump(mode="json", exclude={"argv"}))
    return effective_rows(asked, run.config.engine, [Told(*row) for row in told])
