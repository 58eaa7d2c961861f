"""One row of the guard: a thing that two arms may differ in, and how they stand to each other in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord, RequestKey, matched
from analysis.evidence.objectives import Objective
from load_records import RequestRecord


class Standing(StrEnum):
    """How two arms stand to each other in one thing."""

    SAME = "same"
    COMPARED = "compared"  # it differs and is what is compared
    TOLD = "told"  # it differs, or is bad for both alike, and is noted beside the answer
    MATTERS = "matters"  # it differs and matters: they are not ranked
    UNKNOWN = "unknown"


class RowCode(StrEnum):
    """The rows in the order in which they are shown; the values of each are those of its function."""

    MODEL = "model"
    ENGINE = "engine"
    QUANTIZATION = "quantization"
    KV_DTYPE = "kv_dtype"
    SETTINGS = "settings"
    SAMPLING = "sampling"
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
    LENGTHS = "lengths"
    LOOPS = "loops"
    THROTTLING = "throttling"
    STARVATION = "starvation"
    CLIENT = "client"
    GPU_SHARED = "gpu_shared"
    NEIGHBOURS = "neighbours"
    DEFINITION = "definition"


# A person may say that these are what is compared; failures, warm-up, loops and starvation can never be declared away.
DECLARABLE = frozenset({RowCode.MODEL, RowCode.SAMPLING, RowCode.HARDWARE, RowCode.GPU_LIMITS})


@dataclass(frozen=True, slots=True)
class Row:
    """A row with the values that its words are made of."""

    code: RowCode
    standing: Standing
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arms as the guard looks at them: `ratio` is other over baseline, None where neither could be measured."""

    baseline: Arm
    other: Arm
    objective: Objective
    keys: frozenset[RequestKey] = frozenset()  # requests that all their loads share
    ratio: float | None = None
    declared: frozenset[RowCode] = frozenset()
    is_claimed: bool = False  # by their values alone they are distinguished

    @property
    def arms(self) -> tuple[Arm, Arm]:
        return self.baseline, self.other

    @property
    def runs(self) -> list[RunFacts]:
        return [*self.baseline.runs, *self.other.runs]

    @property
    def is_other_faster(self) -> bool | None:
        """None where the ratio is not known."""
        if self.ratio is None:
            return None
        return (self.ratio > 1) == self.objective.terms.higher_is_better

    @property
    def slower_first(self) -> tuple[Arm, Arm]:
        return (self.baseline, self.other) if self.is_other_faster else (self.other, self.baseline)


Check = Callable[[Pair], Row]


def loads_of(arm: Arm) -> list[LoadRecord]:
    """Every load of the arm's runs, run by run."""
    return [load for run in arm.runs for load in run.loads]


def compared_requests(pair: Pair, arm: Arm) -> list[RequestRecord]:
    """The arm's requests that both arms ended, at the objective's concurrency where it has one."""
    return [r for load in loads_of(arm) for r in matched(load, pair.keys, pair.objective.at_once)]


def each(pair: Pair, of: Callable[[RunFacts], Any]) -> tuple[list[Any], list[Any]]:
    """A fact of the runs of both arms, each value once, in the order of the runs."""
    first, second = (list(dict.fromkeys(of(run) for run in arm.runs)) for arm in pair.arms)
    return first, second


def differing(code: RowCode, pair: Pair, values: Mapping[str, Any], unless: Standing = Standing.MATTERS) -> Row:
    """A row of things that differ: what is compared where a person said so."""
    return Row(code, Standing.COMPARED if code in pair.declared else unless, values)
