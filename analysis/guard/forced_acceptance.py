"""Guard row about forced draft acceptance: a switch for tests of an engine, under which no speed is real."""

from __future__ import annotations

from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, distinct_values


def forced_acceptance(pair: ArmPair) -> GuardRow:
    """Refuse a ranking if a run of either arm accepts drafts that its model would not; nobody can declare it away."""
    sides = distinct_values(pair, lambda run: run.served.forced_acceptance)
    switches = tuple(next(filter(None, side), None) for side in sides)
    if any(switches):
        return GuardRow(RowCode.FORCED_ACCEPTANCE, RowStatus.MATTERS, {"switches": switches})
    is_known = all(run.served.is_configuration_known for run in pair.runs)
    return GuardRow(
        RowCode.FORCED_ACCEPTANCE, RowStatus.SAME if is_known else RowStatus.UNKNOWN, {"switches": switches}
    )
