"""Whether two arms may be ranked. docs/answers/comparability.md has the table; each row is a pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.evidence.objectives import Kind
from analysis.guard import answers, configuration, gpu_limits, load, machine
from analysis.guard.rows import DECLARABLE, Check, Pair, Row, RowCode, Standing

CHECKS: Mapping[RowCode, Check] = {
    RowCode.MODEL: configuration.model,
    RowCode.ENGINE: configuration.engine,
    RowCode.QUANTIZATION: configuration.quantization,
    RowCode.KV_DTYPE: configuration.kv_dtype,
    RowCode.SETTINGS: configuration.settings,
    RowCode.SAMPLING: configuration.sampling,
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
    RowCode.LENGTHS: answers.lengths,
    RowCode.LOOPS: answers.loops,
    RowCode.THROTTLING: machine.throttling,
    RowCode.STARVATION: machine.starvation,
    RowCode.CLIENT: machine.client,
    RowCode.GPU_SHARED: machine.gpu_shared,
    RowCode.NEIGHBOURS: machine.neighbours,
    RowCode.DEFINITION: load.definition,
}

# A server starts before its load: what was asked of it then, and what it answered, is no part of its start-up time.
OF_A_LOAD = frozenset(code for code, check in CHECKS.items() if check.__module__ in (load.__name__, answers.__name__))


def guard(pair: Pair) -> list[Row]:
    """All rows of the table for this pair, in the order in which they are shown."""
    skipped = OF_A_LOAD if pair.objective.kind is Kind.STARTUP_S else frozenset()
    return [Row(c, Standing.SAME, {"not_needed": True}) if c in skipped else CHECKS[c](pair) for c in RowCode]


def refusals(rows: Sequence[Row]) -> list[Row]:
    """Those that forbid a ranking."""
    return [row for row in rows if row.standing is Standing.MATTERS]


__all__ = ["CHECKS", "DECLARABLE", "Pair", "Row", "RowCode", "Standing", "guard", "refusals"]
