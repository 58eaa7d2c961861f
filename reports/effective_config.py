"""What was asked of a run's server, and beside it what the server says it started with."""

from __future__ import annotations

from analysis.config_diff import flatten
from analysis.effective import Row, Told, effective_rows
from domain import Run
from storage.ask import queries


def effective_config(store: queries.Asked, run: Run) -> tuple[list[Row], bool]:
    """A row a field, and whether the log has said anything of how the server started."""
    asked = flatten(run.config.model_dump(mode="json", exclude={"argv"}))
    told = [Told(*row) for row in queries.startup_facts(store, run.id)]
    return effective_rows(asked, run.config.engine, told), bool(told)
