"""What one row of the list of runs says of a run's speed."""

from __future__ import annotations

from dataclasses import dataclass

from reasons import Reason


@dataclass(frozen=True, slots=True)
class RunLine:
    """The numbers of one row; None with `reason`."""

    stream_tps: float | None  # by its loads: decode speed of one stream alone
    output_tps: float | None  # and of all of them together
    typical_tps: float | None
    peak_tps: float | None
    tokens_per_step: float | None
    acceptance_length: float | None
    reason: Reason | None
    printed_tps: float | None = None  # as its log prints it, where none is measured: never ranked or sorted by
    printed_lines: int | None = None  # that say so
    printed_definition: str | None = None
    # What Explore draws beside the speeds; unknown without a reason of their own.
    acceptance_rate: float | None = None
    tokens_per_j: float | None = None
    gpu_power_w: float | None = None
    server_cores: float | None = None
    host_busy_ratio: float | None = None
    kv_usage_peak_ratio: float | None = None
    preemptions: float | None = None
    gpu_memory_peak_gib: float | None = None
