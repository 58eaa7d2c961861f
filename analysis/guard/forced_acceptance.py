"""Guard row about forced draft acceptance: a switch for tests of an engine, under which no speed is real."""

from __future__ import annotations

from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, distinct_values


def forced_acceptance(pair: ArmPair) -> GuardRow:
    """Refuse a ranking if a run of either arm accepts drafts that its model would not; nobody can declare it away."""
    sides = distinct_values(pair, lambda run: run.served.forced_acceptance)
    switches = tuple(next(filter(None, side), None) for side in sides)
    status = RowStatus.SAME if switches == (None, None) else RowStatus.MATTERS
    return GuardRow(RowCode.FORCED_ACCEPTANCE, status, {"switches": switches})
