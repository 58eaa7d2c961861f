"""Guard row about GPU settings by users or administrators: a GPU with other limits is another machine."""

from __future__ import annotations

from analysis.evidence.objectives import ObjectiveKind
from analysis.guard.configuration import gpu_kinds
from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, differing_row, distinct_values
from domain import JsonValue

POWER, MIG, PERSISTENCE, DRIVER = "power_limit_w", "mig", "persistence", "driver"
NUMBERS = (POWER, "application_clock_mhz")
LIMITS = (*NUMBERS, MIG, "ecc", PERSISTENCE, DRIVER)
DistinctValues = tuple[JsonValue, ...] | None  # of one run; None: not read
LimitFields = dict[str, tuple[list[DistinctValues], list[DistinctValues]]]


def limits(pair: ArmPair) -> GuardRow:
    """Compare power limit, clocks, MIG, ECC, persistence mode and driver, within one kind of GPU."""
    if all(run.served.gpus == () for run in pair.runs):
        return GuardRow(RowCode.GPU_LIMITS, RowStatus.SAME, {"no_gpu": True})
    by_name: LimitFields = {name: _limit(pair, name) for name in LIMITS}
    is_one_kind = gpu_kinds(pair.baseline) == gpu_kinds(pair.contender)
    differing_limits = {name: sides for name, sides in by_name.items() if _is_unlike(sides, is_one_kind)}
    if any(_bounds_speed(name, pair) for name in differing_limits):
        return differing_row(RowCode.GPU_LIMITS, pair, {"fields": differing_limits})
    if differing_limits:
        return GuardRow(RowCode.GPU_LIMITS, RowStatus.TOLD, {"fields": differing_limits})
    unknown = [name for name, (first, second) in by_name.items() if None in (*first, *second)]
    is_sliced = any(True in (values or ()) for values in (*by_name[MIG][0], *by_name[MIG][1]))  # slice size unknown
    standing = RowStatus.UNKNOWN if unknown or is_sliced else RowStatus.SAME
    return GuardRow(RowCode.GPU_LIMITS, standing, {"fields": by_name, "unknown": unknown, "sliced": is_sliced})


def _limit(pair: ArmPair, name: str) -> tuple[list[DistinctValues], list[DistinctValues]]:
    return distinct_values(pair, lambda run: run.served.gpu_limits.get(name))


def _is_unlike(arm_values: tuple[list[DistinctValues], list[DistinctValues]], is_one_kind: bool) -> bool:
    """Whether two runs on one kind of GPU are known to differ."""
    sides = [{value for value in side if value is not None and None not in value} for side in arm_values]
    return any(len(values) > 1 for values in ([sides[0] | sides[1]] if is_one_kind else sides))


def _bounds_speed(name: str, pair: ArmPair) -> bool:
    """Whether a setting affects the objective; persistence mode only saves start-up time, and drivers limit nothing."""
    return name not in (PERSISTENCE, DRIVER) or (name == PERSISTENCE and pair.objective.kind is ObjectiveKind.STARTUP_S)
