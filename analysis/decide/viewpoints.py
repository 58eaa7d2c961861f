"""Viewpoints on configurations: definition of each, and what two arms must share for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from analysis.guard import RowCode
from analysis.metrics.registry import MetricId


class EvidenceKind(StrEnum):
    """Kind of a viewpoint's values, which decides the test that distinguishes them."""

    STARTS = "starts"  # one value per server start: Welch's t
    STATED = "stated"  # a fact of the configuration, without scatter
    SHARE = "share"  # of correct items: McNemar's exact test on shared items, else Wilson's intervals
    SCATTER = "scatter"  # standard deviation between starts: F


class Viewpoint(StrEnum):
    """The viewpoints in display order."""

    COMPARED = "compared"  # the comparison's own objective
    PEAK_P99 = "peak_p99"
    PEAK_MAXIMUM = "peak_maximum"
    TYPICAL = "typical"
    FLOOR = "floor"
    ACCEPTANCE = "acceptance"
    TTFT = "ttft"
    LOAD_HELD = "load_held"
    KV_CAPACITY = "kv_capacity"
    ENERGY = "energy"
    COST = "cost"
    SESSION_COST = "session_cost"
    QUALITY = "quality"
    FIDELITY = "fidelity"
    STABILITY = "stability"
    STARTUP = "startup"


ALL_ROWS = frozenset(RowCode)
QUALITY_ROWS = frozenset({RowCode.SAMPLING, RowCode.FORCED_ACCEPTANCE})
MACHINE_ROWS = frozenset(
    {RowCode.HARDWARE, RowCode.GPU_LIMITS, RowCode.THROTTLING, RowCode.STARVATION, RowCode.CLIENT}
    | {RowCode.GPU_SHARED, RowCode.NEIGHBOURS}
)


@dataclass(frozen=True, slots=True)
class ViewpointTerms:
    """Title, unit, direction and meaning of a viewpoint; `rows` are the guard rows that can forbid it."""

    title: str
    unit: str
    higher_is_better: bool
    meaning: str
    evidence: EvidenceKind = EvidenceKind.STARTS
    rows: frozenset[RowCode] = ALL_ROWS


def _of_metric(metric: MetricId) -> ViewpointTerms:
    definition = metric.definition
    return ViewpointTerms(
        metric.title, definition.unit, bool(definition.higher_is_better), definition.definition.removesuffix(".")
    )


VIEWS: Mapping[Viewpoint, ViewpointTerms] = {
    Viewpoint.PEAK_P99: _of_metric(MetricId("peak_tps", 1)),
    Viewpoint.PEAK_MAXIMUM: _of_metric(MetricId("maximum_tps", 1)),
    Viewpoint.TYPICAL: _of_metric(MetricId("typical_tps", 1)),
    Viewpoint.FLOOR: _of_metric(MetricId("floor_tps", 1)),
    Viewpoint.ACCEPTANCE: ViewpointTerms(
        "Acceptance length",
        "tok/step",
        True,
        "tokens per verified draft, bonus token included; rates at other draft lengths are not comparable",
        rows=ALL_ROWS - MACHINE_ROWS,
    ),
    Viewpoint.TTFT: ViewpointTerms("Time to first token", "ms", False, "median over the same requests, from sending"),
    Viewpoint.LOAD_HELD: ViewpointTerms(
        "Load held", "users", True, "users at once within the limits of 'how many users'"
    ),
    Viewpoint.KV_CAPACITY: ViewpointTerms(
        "KV capacity",
        "requests",
        True,
        "requests that fit at once, at the longest length known for all arms",
        EvidenceKind.STATED,
        frozenset({RowCode.MODEL, RowCode.HARDWARE}),
    ),
    Viewpoint.ENERGY: ViewpointTerms(
        "Energy", "J/token", False, "joules of its GPUs per output token of the Pitwall load"
    ),
    Viewpoint.COST: ViewpointTerms(
        "Cost", "per million tokens", False, "price of the machine at the speed of the Pitwall load"
    ),
    Viewpoint.SESSION_COST: ViewpointTerms(
        "Cost per session",
        "per session",
        False,
        "price and energy of the machine during its agent sessions, over their number",
    ),
    Viewpoint.QUALITY: ViewpointTerms(
        "Quality", "%", True, "items of one task answered correctly", EvidenceKind.SHARE, QUALITY_ROWS
    ),
    Viewpoint.FIDELITY: ViewpointTerms(
        "Same answers",
        "%",
        True,
        "share of positions in fixed texts at which the first choice is the first arm's; its own: its second start",
        EvidenceKind.SHARE,
        frozenset({RowCode.FORCED_ACCEPTANCE}),
    ),
    Viewpoint.STABILITY: ViewpointTerms(
        "Stability",
        "%",
        False,
        "standard deviation of the compared quantity between server starts",
        EvidenceKind.SCATTER,
    ),
    Viewpoint.STARTUP: ViewpointTerms("Start-up", "s", False, "from process start to readiness"),
}
