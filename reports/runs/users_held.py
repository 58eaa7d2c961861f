"""The number of users that a server holds within its limits, by the load that searches for it."""

from __future__ import annotations

from collections.abc import Mapping

from commands.study_file import USERS_HELD
from storage.queries.load_queries import LoadOutcome


def users_held(outcomes: Mapping[str, LoadOutcome]) -> float | None:
    """Return the value of the run's last such load, given its outcomes by load; None without one."""
    results = [result for outcome in outcomes.values() for result in outcome.results]
    values = [result.value for result in results if result.metric == USERS_HELD and result.value is not None]
    return values[-1] if values else None
