"""Whether the budget of a study lets another round begin."""

from __future__ import annotations

from commands.study_file import Budget


def spent(budget: Budget, started: int, due: int, rounds_done: int, age_h: float) -> str | None:
    """Why no further round begins, in a sentence; None while one may.

    started: server starts so far. due: those of the next round, which is whole or not at all.
    """
    if started >= budget.runs:
        return f"The budget of {budget.runs} runs is spent."
    if started + due > budget.runs:
        return f"Of the budget of {budget.runs} runs {budget.runs - started} are left; the next round takes {due}."
    if rounds_done >= budget.rounds:
        return f"The budget of {budget.rounds} rounds is spent."
    return f"The budget of {budget.hours:g} hours is spent." if budget.hours and age_h >= budget.hours else None
