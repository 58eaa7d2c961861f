"""The viewpoints from which configurations are looked at: what each is, and what two arms must share for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from analysis.guard import RowCode


class Evidence(StrEnum):
    """What a viewpoint's values are, and so by what they are distinguished."""

    STARTS = "starts"  # one a server start: Welch's t
    STATED = "stated"  # a fact of the configuration, without scatter
    SHARE = "share"  # of items that were right: Wilson's intervals
    SCATTER = "scatter"  # of the starts themselves: F


class Viewpoint(StrEnum):
    """In the order in which they are shown."""

    COMPARED = "compared"  # what the comparison is by
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
    QUALITY = "quality"
    STABILITY = "stability"
    STARTUP = "startup"


ALL_ROWS = frozenset(RowCode)
OF_THE_MODEL = frozenset({RowCode.MODEL, RowCode.SAMPLING})
OF_THE_MACHINE = frozenset(
    {RowCode.HARDWARE, RowCode.GPU_LIMITS, RowCode.THROTTLING, RowCode.STARVATION, RowCode.CLIENT}
    | {RowCode.GPU_SHARED, RowCode.NEIGHBOURS}
)


@dataclass(frozen=True, slots=True)
class View:
    """How a viewpoint is written and read; `rows` of the guard are those that may forbid it."""

    title: str
    unit: str
    higher_is_better: bool
    meaning: str
    evidence: Evidence = Evidence.STARTS
    rows: frozenset[RowCode] = ALL_ROWS


WINDOWS = "whole 2 s windows of one request alone"
VIEWS: Mapping[Viewpoint, View] = {
    Viewpoint.PEAK_P99: View("Peak speed, p99", "tok/s", True, f"99th percentile of the {WINDOWS}"),
    Viewpoint.PEAK_MAXIMUM: View("Peak speed, maximum", "tok/s", True, f"the highest of the {WINDOWS}"),
    Viewpoint.TYPICAL: View("Typical decode speed", "tok/s", True, "median of the windows that hold decoding alone"),
    Viewpoint.FLOOR: View("Floor", "tok/s", True, "10th percentile of these windows"),
    Viewpoint.ACCEPTANCE: View(
        "Acceptance length",
        "tok/step",
        True,
        "tokens per verified draft, its own token included; rates of other draft lengths do not compare",
        rows=ALL_ROWS - OF_THE_MACHINE,
    ),
    Viewpoint.TTFT: View("Time to first token", "ms", False, "median over the same requests, from sending"),
    Viewpoint.LOAD_HELD: View("Load held", "users", True, "users at once within the limits of 'how many users'"),
    Viewpoint.KV_CAPACITY: View(
        "KV capacity",
        "requests",
        True,
        "requests that fit at once, of the longest length that is known of all",
        Evidence.STATED,
        frozenset({RowCode.MODEL, RowCode.HARDWARE}),
    ),
    Viewpoint.ENERGY: View("Energy", "J/token", False, "joules of its GPUs for an output token of our load"),
    Viewpoint.COST: View("Cost", "per million tokens", False, "price of the machine at the speed of our load"),
    Viewpoint.QUALITY: View(
        "Quality", "%", True, "items answered right, of one task", Evidence.SHARE, OF_THE_MODEL - {RowCode.MODEL}
    ),
    Viewpoint.STABILITY: View(
        "Stability", "%", False, "standard deviation between server starts, of what is compared", Evidence.SCATTER
    ),
    Viewpoint.STARTUP: View("Start-up", "s", False, "from the start of the process to its readiness"),
}
