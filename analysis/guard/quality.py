"""Guard row about the quality of answers: whether a faster arm answers as the first one does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from analysis.comparison.arms import Arm
from analysis.guard import configuration
from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus
from analysis.loads.clustered_share import TextEstimate
from analysis.loads.fidelity import Fidelity, FidelityAnswer, FidelityLoad, compare_fidelity
from reasons import Code, Reason

STATUS = {
    FidelityAnswer.SAME: RowStatus.SAME,
    FidelityAnswer.DIFFERS: RowStatus.TOLD,
    FidelityAnswer.UNDECIDED: RowStatus.UNKNOWN,
    FidelityAnswer.NO_FLOOR: RowStatus.UNKNOWN,
}


def quality(pair: ArmPair) -> GuardRow:
    """Compare the answers; without a measurement, note that weights, KV cache or engine differ.

    It never forbids a ranking: another answer is another quality, which people weigh against speed. What the suites at
    depth say of both arms is among the values.
    """
    row, depths = _fidelity_row(pair), depth_values(pair)
    if not depths:
        return row
    is_shallower = any((reached or 0) < (own_depth or 0) for _, reached, own_depth in depths)
    status = RowStatus.TOLD if is_shallower and row.status is RowStatus.SAME else row.status
    return GuardRow(row.code, status, {**row.values, "depths": depths})


def _fidelity_row(pair: ArmPair) -> GuardRow:
    fidelity = fidelity_of(pair)
    if isinstance(fidelity, Fidelity):
        return GuardRow(RowCode.QUALITY, STATUS[fidelity.answer], fidelity_values(fidelity))
    changed = changed_rows(pair)
    if fidelity.code is Code.NO_FIDELITY and not changed:
        is_known = all(row.status is not RowStatus.UNKNOWN for row in _rows_of_weights(pair))
        return GuardRow(RowCode.QUALITY, RowStatus.SAME if is_known else RowStatus.UNKNOWN, {"unchanged": is_known})
    return GuardRow(RowCode.QUALITY, RowStatus.TOLD, {"reason": fidelity, "changed": changed})


def depth_values(pair: ArmPair) -> list[tuple[str, int | None, int | None]]:
    """Return each suite that both arms tried, with the depths until which it holds: the contender's, the baseline's."""
    baseline, contender = pair.baseline.depths, pair.contender.depths
    return [
        (suite, claims.holds_until, baseline[suite].holds_until)
        for suite, claims in contender.items()
        if suite in baseline
    ]


def changed_rows(pair: ArmPair) -> list[RowCode]:
    """Return the rows of what may change answers and differs: engine, weights, KV cache."""
    engines = configuration.engine(pair)
    names = engines.values["engines"]
    is_other_engine = None not in names and names[0] != names[1]
    changed = [row.code for row in _rows_of_weights(pair) if row.status is RowStatus.COMPARED]
    return [RowCode.ENGINE, *changed] if is_other_engine else changed


def _rows_of_weights(pair: ArmPair) -> list[GuardRow]:
    return [configuration.quantization(pair), configuration.kv_dtype(pair)]


def fidelity_of(pair: ArmPair) -> Fidelity | Reason:
    """Return the contender's answers against the baseline's, or why they are not known."""
    return _compare(fidelity_loads(pair.baseline), fidelity_loads(pair.contender))


@lru_cache(maxsize=32)  # the same two arms are compared for each objective and concurrency
def _compare(references: tuple[FidelityLoad, ...], arm_loads: tuple[FidelityLoad, ...]) -> Fidelity | Reason:
    return compare_fidelity(references, arm_loads)


def fidelity_loads(arm: Arm) -> tuple[FidelityLoad, ...]:
    """Return the fullest fidelity load of each server start that has one."""
    return tuple(max(start.fidelity, key=lambda load: len(load.positions)) for start in arm.starts if start.fidelity)


def fidelity_values(fidelity: Fidelity) -> dict[str, Any]:
    """Return the values of the row."""
    return {
        "answer": fidelity.answer.value,
        "agreement": interval_values(fidelity.agreement),
        "floor": interval_values(fidelity.floor),
        "loss": interval_values(fidelity.loss),
        "texts": fidelity.agreement.texts,
        "margin": fidelity.margin,
    }


def interval_values(estimate: TextEstimate | None) -> tuple[float, float | None, float | None] | None:
    """Return value, low and high; None for an unknown estimate."""
    return None if estimate is None else (estimate.value, estimate.low, estimate.high)
