"""What a person or an administrator set on the GPUs: a GPU with other limits is another machine."""

from __future__ import annotations

from analysis.evidence.objectives import Kind
from analysis.guard.configuration import gpu_kinds
from analysis.guard.rows import Pair, Row, RowCode, Standing, differing, each
from domain import JsonValue

POWER, MIG, PERSISTENCE, DRIVER = "power_limit_w", "mig", "persistence", "driver"
NUMBERS = (POWER, "application_clock_mhz")
LIMITS = (*NUMBERS, MIG, "ecc", PERSISTENCE, DRIVER)
Once = tuple[JsonValue, ...] | None  # of one run: each value once; None: nobody looked
Fields = dict[str, tuple[list[Once], list[Once]]]


def limits(pair: Pair) -> Row:
    """Power limit, clocks, MIG, ECC, persistence mode and driver. Another kind of GPU has limits of its own."""
    if all(run.served.gpus == () for run in pair.runs):
        return Row(RowCode.GPU_LIMITS, Standing.SAME, {"no_gpu": True})
    by_name: Fields = {name: _limit(pair, name) for name in LIMITS}
    is_one_kind = gpu_kinds(pair.baseline) == gpu_kinds(pair.other)
    unlike = {name: both for name, both in by_name.items() if _is_unlike(both, is_one_kind)}
    if any(_bounds_speed(name, pair) for name in unlike):
        return differing(RowCode.GPU_LIMITS, pair, {"fields": unlike})
    if unlike:
        return Row(RowCode.GPU_LIMITS, Standing.TOLD, {"fields": unlike})
    unknown = [name for name, (first, second) in by_name.items() if None in (*first, *second)]
    is_sliced = any(True in (one or ()) for one in (*by_name[MIG][0], *by_name[MIG][1]))  # into how much is not known
    standing = Standing.UNKNOWN if unknown or is_sliced else Standing.SAME
    return Row(RowCode.GPU_LIMITS, standing, {"fields": by_name, "unknown": unknown, "sliced": is_sliced})


def _limit(pair: Pair, name: str) -> tuple[list[Once], list[Once]]:
    return each(pair, lambda run: run.served.gpu_limits.get(name))


def _is_unlike(both: tuple[list[Once], list[Once]], is_one_kind: bool) -> bool:
    """Whether two runs of a kind of GPU are known to differ."""
    sides = [{one for one in side if one is not None and None not in one} for side in both]
    return any(len(one) > 1 for one in ([sides[0] | sides[1]] if is_one_kind else sides))


def _bounds_speed(name: str, pair: Pair) -> bool:
    """Persistence mode keeps the driver loaded, which saves time at a start alone; another driver limits nothing."""
    return name not in (PERSISTENCE, DRIVER) or (name == PERSISTENCE and pair.objective.kind is Kind.STARTUP_S)
