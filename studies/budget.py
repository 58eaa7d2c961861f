"""Checks whether a study's budget allows another round."""

from __future__ import annotations

from commands.study_file import Budget


def spent_reason(budget: Budget, started: int, next_starts: int, rounds_done: int, age_h: float) -> str | None:
    """Return why no further round may start, as a sentence; None if one may.

    started: server starts so far. next_starts: starts of the next round, which runs completely or not at all.
    """
    if started >= budget.runs:
        return f"The budget of {budget.runs} runs is spent."
    if started + next_starts > budget.runs:
        return (
            f"Of the budget of {budget.runs} runs {budget.runs - started} are left; the next round takes {next_starts}."
        )
    if rounds_done >= budget.rounds:
        return f"The budget of {budget.rounds} rounds is spent."
    return f"The budget of {budget.hours:g} hours is spent." if budget.hours and age_h >= budget.hours else None
