"""Rows of the guard: one aspect in which two arms may differ, and the status of that aspect."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord, RequestKey, matching_requests
from analysis.evidence.objectives import Objective
from analysis.verdict.margin import MARGIN
from load_records import RequestRecord

EXPLAINED = 0.5  # share of a claimed difference, on the log scale, from which something else may explain it


class RowStatus(StrEnum):
    """Status of two arms in one aspect."""

    SAME = "same"
    COMPARED = "compared"  # differs and is the subject of the comparison
    TOLD = "told"  # differs, or is equally bad for both, and is noted with the answer
    MATTERS = "matters"  # differs and matters: the arms are not ranked
    UNKNOWN = "unknown"


class RowCode(StrEnum):
    """The rows in display order; each row's function defines its values."""

    MODEL = "model"
    ENGINE = "engine"
    QUANTIZATION = "quantization"
    KV_DTYPE = "kv_dtype"
    SETTINGS = "settings"
    SAMPLING = "sampling"
    FORCED_ACCEPTANCE = "forced_acceptance"
    HARDWARE = "hardware"
    GPU_LIMITS = "gpu_limits"
    WORKLOAD = "workload"
    PROMPTS = "prompts"
    CONCURRENCY = "concurrency"
    CONTEXT = "context"
    PREFIX_CACHE = "prefix_cache"
    WARMUP = "warmup"
    UNFINISHED = "unfinished"
    FAILED = "failed"
    RESTARTS = "restarts"
    STALLS = "stalls"
    LENGTHS = "lengths"
    LOOPS = "loops"
    QUALITY = "quality"
    THROTTLING = "throttling"
    STARVATION = "starvation"
    CLIENT = "client"
    GPU_SHARED = "gpu_shared"
    NEIGHBOURS = "neighbours"
    DEFINITION = "definition"


# A person may declare these as the subject of the comparison; failures, warm-up, loops, starvation and forced
# acceptance never.
DECLARABLE = frozenset({RowCode.MODEL, RowCode.SAMPLING, RowCode.HARDWARE, RowCode.GPU_LIMITS})


@dataclass(frozen=True, slots=True)
class GuardRow:
    """A row with the values for its text."""

    code: RowCode
    status: RowStatus
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArmPair:
    """Two arms as the guard's input: `ratio` is contender over baseline, None if unmeasured."""

    baseline: Arm
    contender: Arm
    objective: Objective
    keys: frozenset[RequestKey] = frozenset()  # of the requests that all their loads share
    ratio: float | None = None
    declared: frozenset[RowCode] = frozenset()
    is_claimed: bool = False  # their values alone distinguish them
    margin: float = MARGIN  # the smallest difference that matters

    @property
    def arms(self) -> tuple[Arm, Arm]:
        return self.baseline, self.contender

    @property
    def runs(self) -> list[RunFacts]:
        return [*self.baseline.runs, *self.contender.runs]

    @property
    def is_contender_faster(self) -> bool | None:
        """Whether the contender is faster; None if the ratio is unknown."""
        if self.ratio is None:
            return None
        return (self.ratio > 1) == self.objective.terms.higher_is_better

    def is_explained_by(self, effect_log: float) -> bool:
        """Whether an effect on the ratio, as a logarithm, may explain half of a claimed difference or more.

        Where nothing is claimed, an effect beyond the margin may hide a difference.
        """
        if abs(effect_log) <= math.log1p(self.margin):
            return False
        if not self.is_claimed or not self.ratio:
            return True
        return effect_log / math.log(self.ratio) >= EXPLAINED

    @property
    def slower_first(self) -> tuple[Arm, Arm]:
        return (self.baseline, self.contender) if self.is_contender_faster else (self.contender, self.baseline)


RowCheck = Callable[[ArmPair], GuardRow]


def loads_of(arm: Arm) -> list[LoadRecord]:
    """Return every load of the arm's runs, run by run."""
    return [load for run in arm.runs for load in run.loads]


def compared_requests(pair: ArmPair, arm: Arm) -> list[RequestRecord]:
    """Return the arm's requests that both arms completed, at the objective's concurrency if it has one."""
    return [r for load in loads_of(arm) for r in matching_requests(load, pair.keys, pair.objective.at_once)]


def distinct_values(pair: ArmPair, fact_of: Callable[[RunFacts], Any]) -> tuple[list[Any], list[Any]]:
    """Return the distinct values of a fact in the runs of each arm, in the order of the runs."""
    first, second = (list(dict.fromkeys(fact_of(run) for run in arm.runs)) for arm in pair.arms)
    return first, second


def differing_row(
    code: RowCode, pair: ArmPair, values: Mapping[str, Any], status: RowStatus = RowStatus.MATTERS
) -> GuardRow:
    """Return a row for a difference: COMPARED if a person declared it, else `status`."""
    return GuardRow(code, RowStatus.COMPARED if code in pair.declared else status, values)
