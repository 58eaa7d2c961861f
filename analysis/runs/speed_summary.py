"""Summarises a run's windows: peak, typical speed, floor, and the two factors of speed.

Peak, typical speed and floor are always those of one number of concurrent requests, because four requests together are
faster than one: without a number they are those of one request alone. Peak is the 99th percentile and the maximum,
typical the time-weighted median with the 25th to 75th percentile, floor the 10th percentile. Windows that are known for
only a part of their length, or longer than the others, are in no peak: a rate over 0.4 s is no peak of 2 s. A mean also
counts gaps in the counters' answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.runs.windows import Flags, Floats, Stretches, Window, WindowColumns
from engines.acceptance import acceptance_length_of
from reasons import Code, Reason

USUAL_SHARE = 0.8  # share of a run's windows that make a length its usual one
SAME_LENGTH = 0.1  # tolerance: samples come a little early or late
FEWEST_WINDOWS = 3  # with fewer active windows a percentile is meaningless


@dataclass(frozen=True, slots=True)
class WindowFactors:
    """decode_tps = steps_per_s x tokens_per_step over the same active windows: an identity, not a model.

    Steps per second are counted or unknown, never derived from the other two.
    """

    decode_tps: float
    steps_per_s: float | None
    tokens_per_step: float | None
    reason: Reason | None = None  # why a factor is unknown


@dataclass(frozen=True, slots=True)
class Extremes:
    """Highest values of some windows, by both usual definitions, and the number of windows."""

    p99: float
    maximum: float
    windows: int


@dataclass(frozen=True, slots=True)
class ConcurrencySpeeds:
    """Speeds of the active windows with this many requests throughout, in decode tok/s.

    Typical speed and floor are None below FEWEST_WINDOWS windows; peaks are None below as many complete windows, that
    of the acceptance length also without as many counted drafts.
    """

    streams: int
    windows: int
    typical_tps: float | None = None
    typical_low_tps: float | None = None
    typical_high_tps: float | None = None
    floor_tps: float | None = None
    whole_windows: int = 0  # complete ones, of the usual length
    peak: Extremes | None = None
    acceptance_peak: Extremes | None = None

    @property
    def no_peak(self) -> Reason | None:
        """Why the peak is unknown."""
        return None if self.peak else _few_whole_windows(self.whole_windows)


NO_SPEEDS = ConcurrencySpeeds(1, 0)


@dataclass(frozen=True, slots=True)
class SpeedSummary:
    """Summary of a run's active windows; the factors are None with `reason` if there are too few of them."""

    window_s: float | None  # None: lines of a log with different lengths
    definition: str | None
    active_windows: int
    excluded_windows: int
    concurrency: float | None = None  # mean requests running
    factors: WindowFactors | None = None
    reason: Reason | None = None
    speeds: tuple[ConcurrencySpeeds, ...] = ()  # by streams, the fewest first
    no_typical: Reason | None = None  # why the typical speed of one request alone is unknown
    acceptance_peak: Extremes | None = None  # of the acceptance length, at any concurrency
    no_acceptance_peak: Reason | None = None
    acceptance_length: float | None = None  # over the windows of the factors

    @property
    def alone(self) -> ConcurrencySpeeds:
        """The speeds of one request alone."""
        return next((speeds for speeds in self.speeds if speeds.streams == 1), NO_SPEEDS)


def summarize(windows: Sequence[Window]) -> SpeedSummary:
    """Summarise one run's windows, all of one definition."""
    columns = WindowColumns.of(windows)
    is_active, usual_s = columns.is_active, _usual_window_s(columns)
    is_peak = is_active & columns.is_whole
    if usual_s is not None:
        is_peak &= _is_close(columns.window_s, usual_s)
    active_count = int(is_active.sum())
    counts = (_shown_window_s(usual_s), columns.definition, active_count, len(columns) - active_count)
    speeds = _speeds_by_streams(columns, is_active, is_peak)
    if active_count < FEWEST_WINDOWS:
        reason = _too_few(len(columns), active_count)
        return SpeedSummary(*counts, reason=reason, speeds=speeds, no_typical=reason, no_acceptance_peak=reason)
    stretches = _mean_stretches(columns)
    peak_acceptance = columns.acceptance_length[is_peak]
    acceptance_peak = _extremes(peak_acceptance)
    summary = SpeedSummary(
        *counts,
        concurrency=_mean(columns.requests_running[is_active]),
        factors=_factors(columns, stretches),
        speeds=speeds,
        acceptance_peak=acceptance_peak,
        no_acceptance_peak=None if acceptance_peak else _few_whole_windows(int((~np.isnan(peak_acceptance)).sum())),
        acceptance_length=_acceptance_length(stretches),
    )
    return summary if summary.alone.typical_tps is not None else replace(summary, no_typical=_not_alone(speeds))


def speed_factors(windows: Sequence[Window]) -> WindowFactors | None:
    """Split tokens over time into steps over time and tokens over steps, summed over the stretches of a mean."""
    columns = WindowColumns.of(windows)
    return _factors(columns, _mean_stretches(columns))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the value at half of the total weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, share[-1] / 2.0)])


def _mean_stretches(columns: WindowColumns) -> Stretches:
    """Return what a mean sums: the active windows, and the gaps whose counts are known.

    Without the gaps a mean on a busy machine is too high, since a server answers late when it is slow.
    """
    is_counted = columns.is_active & ~np.isnan(columns.tokens) & (columns.dt_s > 0)
    active_columns = (columns.tokens, columns.dt_s, columns.steps, columns.drafts, columns.accepted)
    active = Stretches(*(column[is_counted] for column in active_columns))
    if not len(active.tokens):
        return active
    return Stretches(*(np.concatenate(pair) for pair in zip(active, columns.bridged, strict=True)))


def _factors(columns: WindowColumns, stretches: Stretches) -> WindowFactors | None:
    if not len(stretches.tokens):
        return None
    seconds, tokens = float(stretches.s.sum()), float(stretches.tokens.sum())
    if unknown := int(np.isnan(stretches.steps).sum()):
        tokens_per_step = _stated_tokens_per_step(columns)
        return WindowFactors(tokens / seconds, None, tokens_per_step, _no_steps(unknown, len(stretches.tokens)))
    steps = float(stretches.steps.sum())
    if steps <= 0:
        return WindowFactors(tokens / seconds, None, None, Reason(Code.NO_STEP_COUNTED))
    return WindowFactors(tokens / seconds, steps / seconds, tokens / steps)


def _stated_tokens_per_step(columns: WindowColumns) -> float | None:
    """Return tokens over steps if each window states that ratio but no step rate (SGLang's accept length)."""
    tokens = np.nan_to_num(columns.tokens[columns.is_active])
    ratios = columns.tokens_per_step[columns.is_active]
    if np.isnan(ratios).any() or not ratios.all():
        return None
    steps = float((tokens / ratios).sum())
    return float(tokens.sum()) / steps if steps > 0 else None


def _no_steps(unknown: int, counted: int) -> Reason:
    if unknown == counted:
        return Reason(Code.NO_STEP_COUNTER)
    return Reason(Code.STEPS_MISSING, values={"missing": unknown, "active": counted})


def _acceptance_length(stretches: Stretches) -> float | None:
    """Return 1 + accepted / drafts over the stretches of a mean; None if none of them counts drafts.

    It equals tokens per step if every step drafts. Acceptance over a whole run includes other windows.
    """
    is_drafting = ~np.isnan(stretches.accepted) & (stretches.drafts > 0)
    accepted, drafts = (float(column[is_drafting].sum()) for column in (stretches.accepted, stretches.drafts))
    return acceptance_length_of(accepted, drafts)


def _speeds_by_streams(columns: WindowColumns, is_active: Flags, is_peak: Flags) -> tuple[ConcurrencySpeeds, ...]:
    """Return the speeds for each number of streams that stayed constant throughout at least one window."""
    counts = columns.streams[is_active & (columns.streams > 0)]
    return tuple(
        _speeds_at(streams, columns, is_active & (columns.streams == streams), is_peak & (columns.streams == streams))
        for streams in np.unique(counts.astype(int)).tolist()
    )


def _speeds_at(streams: int, columns: WindowColumns, is_counted: Flags, is_peak: Flags) -> ConcurrencySpeeds:
    rates, whole_count = columns.decode_tps[is_counted], int(is_peak.sum())
    if len(rates) < FEWEST_WINDOWS:
        return ConcurrencySpeeds(streams, len(rates), whole_windows=whole_count)
    floor, low, high = (float(q) for q in np.percentile(rates, [10, 25, 75]))
    typical_tps = weighted_median(rates, columns.dt_s[is_counted])
    peaks = _extremes(columns.decode_tps[is_peak]), _extremes(columns.acceptance_length[is_peak])
    return ConcurrencySpeeds(streams, len(rates), typical_tps, low, high, floor, whole_count, *peaks)


def _not_alone(speeds: Sequence[ConcurrencySpeeds]) -> Reason:
    """Return why active windows give no typical speed of one request alone."""
    if not speeds:
        return Reason(Code.CONCURRENCY_UNKNOWN)
    alone = next((at.windows for at in speeds if at.streams == 1), 0)
    together = [at.streams for at in speeds if at.streams > 1]
    return Reason(Code.SELDOM_ALONE, values={"windows": alone, "fewest": FEWEST_WINDOWS, "together": together})


def _extremes(values: Floats) -> Extremes | None:
    known_values = values[~np.isnan(values)]
    if len(known_values) < FEWEST_WINDOWS:
        return None
    return Extremes(float(np.percentile(known_values, 99)), float(known_values.max()), len(known_values))


def _usual_window_s(columns: WindowColumns) -> float | None:
    """Return the length of most windows; None if there is none, since log lines may have different lengths."""
    lengths = columns.window_s
    if not len(lengths) or np.isnan(lengths).any():
        return None
    usual_s = float(np.median(lengths))
    close_count = np.count_nonzero(_is_close(lengths, usual_s))
    return usual_s if close_count >= USUAL_SHARE * len(lengths) else None


def _shown_window_s(usual_s: float | None) -> float | None:
    """Return the usual length, rounded for display: samples are never exactly 5 s apart."""
    return None if usual_s is None else float(f"{usual_s:.2g}")


def _is_close(lengths_s: Floats, usual_s: float) -> Flags:
    return np.abs(lengths_s - usual_s) <= SAME_LENGTH * usual_s


def _too_few(windows: int, active: int) -> Reason:
    if not windows:
        return Reason(Code.NO_WINDOW)
    return Reason(Code.TOO_FEW_WINDOWS, values={"active": active, "windows": windows, "fewest": FEWEST_WINDOWS})


def _few_whole_windows(count: int) -> Reason:
    if not count:
        return Reason(Code.NO_WHOLE_WINDOW)
    return Reason(Code.FEW_WHOLE_WINDOWS, values={"windows": count, "fewest": FEWEST_WINDOWS})


def _mean(values: Floats) -> float | None:
    known_values = values[~np.isnan(values)]
    return float(known_values.mean()) if len(known_values) else None
