"""The next measurements, derived from a comparison: what the guard refuses first, then further starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.compare_arms import ArmComparison
    from analysis.guard import GuardRow
    from web.words import Names

FEWEST_STARTS = 3
KNOWN = "Nothing: the answer is known."


def next_measurements(answer: ArmComparison, names: Names) -> list[str]:
    """Return what would settle this answer, in sentences."""
    from web.words import reason_text

    if answer.refused:
        return [_removal(row, names) for row in answer.refused]
    if answer.judgement is None:
        return [f"Measure what is missing: {reason_text(answer.no_value) or 'an arm has no value'}."]
    return [_further_starts(answer)]


def _removal(row: GuardRow, names: Names) -> str:
    """Return how to remove a difference that forbids a ranking."""
    from analysis.guard import DECLARABLE
    from web.compare.answer.guard_words import TITLES, row_text

    declared = f", or declare it with {row.code.value} if it is what you compare" if row.code in DECLARABLE else ""
    return f"Measure again without this difference{declared}: {TITLES[row.code]} ({row_text(row, names)})."


def _further_starts(answer: ArmComparison) -> str:
    from analysis.verdict import VerdictAnswer
    from web.compare.answer.sentence import settling_words

    judgement = answer.judgement
    assert judgement is not None
    if judgement.answer is VerdictAnswer.SEEN_ONCE:
        present = _starts(judgement.replicates)
        return f"Start each arm at least {FEWEST_STARTS} times under the same load: {present} so far."
    if judgement.answer in (VerdictAnswer.UNKNOWN, VerdictAnswer.DIFFERENT):
        repeats = judgement.more_repeats
        return f"Start each arm again: {settling_words(repeats)} each." if repeats else "Start each arm again."
    return KNOWN


def _starts(replicates: Sequence[int]) -> str:
    return " and ".join(f"{count} start{'s' * (count != 1)}" for count in replicates)
