"""The guard: decides whether two arms may be ranked.

docs/answers/comparability.md has the table; each row is a pure function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.evidence.objectives import ObjectiveKind
from analysis.guard import answers, configuration, forced_acceptance, gpu_limits, load, machine, quality
from analysis.guard.rows import DECLARABLE, ArmPair, GuardRow, RowCheck, RowCode, RowStatus

CHECKS: Mapping[RowCode, RowCheck] = {
    RowCode.MODEL: configuration.model,
    RowCode.ENGINE: configuration.engine,
    RowCode.QUANTIZATION: configuration.quantization,
    RowCode.KV_DTYPE: configuration.kv_dtype,
    RowCode.SETTINGS: configuration.settings,
    RowCode.SAMPLING: configuration.sampling,
    RowCode.FORCED_ACCEPTANCE: forced_acceptance.forced_acceptance,
    RowCode.HARDWARE: configuration.hardware,
    RowCode.GPU_LIMITS: gpu_limits.limits,
    RowCode.WORKLOAD: load.workload,
    RowCode.PROMPTS: load.prompts,
    RowCode.CONCURRENCY: load.concurrency,
    RowCode.CONTEXT: load.context,
    RowCode.PREFIX_CACHE: load.prefix_cache,
    RowCode.WARMUP: load.warmup,
    RowCode.UNFINISHED: load.unfinished,
    RowCode.FAILED: load.failed,
    RowCode.RESTARTS: load.restarts,
    RowCode.STALLS: load.stalls,
    RowCode.LENGTHS: answers.lengths,
    RowCode.LOOPS: answers.loops,
    RowCode.QUALITY: quality.quality,
    RowCode.THROTTLING: machine.throttling,
    RowCode.STARVATION: machine.starvation,
    RowCode.CLIENT: machine.client,
    RowCode.GPU_SHARED: machine.gpu_shared,
    RowCode.NEIGHBOURS: machine.neighbours,
    RowCode.DEFINITION: load.definition,
}

# A server starts before its load, so these rows do not matter for start-up time.
LOAD_MODULES = (load.__name__, answers.__name__, quality.__name__, forced_acceptance.__name__)
# What an agent sends and gets is part of how it solves a task: its prompts and answers need not be alike.
SHAPE_ROWS = frozenset({RowCode.CONTEXT, RowCode.LENGTHS, RowCode.LOOPS})
LOAD_ROWS = frozenset(code for code, check in CHECKS.items() if check.__module__ in LOAD_MODULES)
SKIPPED_ROWS: Mapping[ObjectiveKind, frozenset[RowCode]] = {
    ObjectiveKind.STARTUP_S: LOAD_ROWS,
    ObjectiveKind.SOLVED_PER_HOUR: SHAPE_ROWS,
}


def guard(pair: ArmPair) -> list[GuardRow]:
    """Return all rows of the table for this pair, in display order."""
    skipped = SKIPPED_ROWS.get(pair.objective.kind, frozenset())
    return [GuardRow(c, RowStatus.SAME, {"not_needed": True}) if c in skipped else CHECKS[c](pair) for c in RowCode]


def refusals(rows: Sequence[GuardRow]) -> list[GuardRow]:
    """Return the rows that forbid a ranking."""
    return [row for row in rows if row.status is RowStatus.MATTERS]


__all__ = ["CHECKS", "DECLARABLE", "ArmPair", "GuardRow", "RowCode", "RowStatus", "guard", "refusals"]
