"""What was asked of a run's server, and beside it what the server says it started with."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.config_diff import flatten
from analysis.runs.effective import LogFact, Row, effective_rows
from domain import Run
from storage.ask import queries


def effective_config(store: queries.Asked, run: Run) -> tuple[list[Row], bool]:
    """A row a field, and whether the log has said anything of how the server started."""
    facts = queries.startup_facts(store, [run.id])[run.id]
    return _rows(run, facts), bool(facts)


def effective_configs(store: queries.Asked, runs: Sequence[Run]) -> dict[str, list[Row]]:
    """The same of several runs, by their ids."""
    facts = queries.startup_facts(store, [run.id for run in runs])
    return {run.id: _rows(run, facts[run.id]) for run in runs}


def _rows(run: Run, facts: Sequence[queries.StartupRow]) -> list[Row]:
    asked = flatten(run.config.model_dump(mode="json", exclude={"argv"}))
    return effective_rows(asked, run.config.engine, [LogFact(*row) for row in facts])
