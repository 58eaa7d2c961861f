"""Summarises a run's windows: peak, typical speed, floor, and the two factors of speed.

A window is active if it holds only decoding; the store labels them. Peak, typical speed and floor are always those of
one number of concurrent requests, because four requests together are faster than one: without a number they are those
of one request alone. Peak is the 99th percentile and the maximum, typical the time-weighted median with the 25th to
75th percentile, floor the 10th percentile. Windows that are known for only a part of their length, or longer than the
others, are in no peak: a rate over 0.4 s is no peak of 2 s. A mean also counts gaps in the counters' answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engines.acceptance import acceptance_length_of
from reasons import Code, Reason

Floats = npt.NDArray[np.float64]
USUAL_SHARE = 0.8  # share of a run's windows that make a length its usual one
SAME_LENGTH = 0.1  # tolerance: samples come a little early or late
FEWEST_WINDOWS = 3  # with fewer active windows a percentile is meaningless


class DecodingStretch(NamedTuple):
    """Counts over some seconds of decoding and nothing else; None: not counted."""

    tokens: float
    s: float
    steps: float | None
    drafts: float | None
    accepted: float | None


class Window(NamedTuple):
    """One window of one run: counts and their duration, from which every rate follows.

    A day has 43,200 of them at 2 s: a tuple is made in a tenth of the time of a frozen dataclass.
    """

    since_ready_s: float
    window_s: float | None  # nominal length, or as the log's lines state it
    dt_s: float
    tokens: float | None  # decode tokens
    steps: float | None  # decode steps, one per running request; None if the engine counts none
    decode_tps: float | None
    tokens_per_step: float | None
    steps_per_s: float | None
    acceptance_length: float | None
    activity: str | None  # active | mixed | prefill | idle | None: unknown
    definition: str
    requests_running: float | None = None
    streams: float | None = None  # requests running throughout; None if their number changed
    drafts: float | None = None
    accepted: float | None = None  # accepted draft tokens
    is_whole: bool = True  # known for its full length
    # What the counters grew by across a gap in their answers: right as a sum, but not known over time.
    bridged: DecodingStretch | None = None


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

    Typical speed and floor are None below FEWEST_WINDOWS windows; peaks are None without a complete window, or
    without a counted draft.
    """

    streams: int
    windows: int
    typical_tps: float | None = None
    typical_low_tps: float | None = None
    typical_high_tps: float | None = None
    floor_tps: float | None = None
    peak: Extremes | None = None
    acceptance_peak: Extremes | None = None


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
    acceptance_length: float | None = None  # over the windows of the factors

    @property
    def alone(self) -> ConcurrencySpeeds:
        """The speeds of one request alone."""
        return next((speeds for speeds in self.speeds if speeds.streams == 1), NO_SPEEDS)


def active_windows(windows: Sequence[Window]) -> list[Window]:
    """Return the windows that may be ranked: pure decoding with a known rate."""
    return [w for w in windows if w.activity == "active" and w.decode_tps is not None]


def peak_windows(windows: Sequence[Window]) -> list[Window]:
    """Return the active windows of the usual length that are known for their full length."""
    return _of_usual_length(active_windows(windows), _usual_window_s(windows))


def _of_usual_length(ranked: Sequence[Window], usual_s: float | None) -> list[Window]:
    return [w for w in ranked if w.is_whole and (usual_s is None or _is_close(w.window_s, usual_s))]


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the value at half of the total weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, share[-1] / 2.0)])


def mean_stretches(windows: Sequence[Window]) -> list[DecodingStretch]:
    """Return what a mean sums: the active windows, and the gaps whose counts are known.

    Without the gaps a mean on a busy machine is too high, since a server answers late when it is slow.
    """
    return _stretches(windows, active_windows(windows))


def _stretches(windows: Sequence[Window], ranked: Sequence[Window]) -> list[DecodingStretch]:
    active_stretches = [
        DecodingStretch(w.tokens, w.dt_s, w.steps, w.drafts, w.accepted)
        for w in ranked
        if w.tokens is not None and w.dt_s > 0
    ]
    return [*active_stretches, *(w.bridged for w in windows if w.bridged)] if active_stretches else []


def speed_factors(windows: Sequence[Window]) -> WindowFactors | None:
    """Split tokens over time into steps over time and tokens over steps, summed over the stretches of a mean."""
    ranked = active_windows(windows)
    return _factors(ranked, _stretches(windows, ranked))


def _factors(ranked: Sequence[Window], stretches: Sequence[DecodingStretch]) -> WindowFactors | None:
    if not stretches:
        return None
    seconds = sum(stretch.s for stretch in stretches)
    tokens = sum(stretch.tokens for stretch in stretches)
    if unknown := sum(stretch.steps is None for stretch in stretches):
        tokens_per_step = _stated_tokens_per_step(ranked)
        return WindowFactors(tokens / seconds, None, tokens_per_step, _no_steps(unknown, len(stretches)))
    steps = sum(stretch.steps or 0.0 for stretch in stretches)
    if steps <= 0:
        return WindowFactors(tokens / seconds, None, None, Reason(Code.NO_STEP_COUNTED))
    return WindowFactors(tokens / seconds, steps / seconds, tokens / steps)


def _stated_tokens_per_step(windows: Sequence[Window]) -> float | None:
    """Return tokens over steps if each window states that ratio but no step rate (SGLang's accept length)."""
    pairs = [(w.tokens or 0.0, w.tokens_per_step) for w in windows]
    steps = [tokens / ratio for tokens, ratio in pairs if ratio]
    return sum(tokens for tokens, _ in pairs) / sum(steps) if len(steps) == len(pairs) and sum(steps) > 0 else None


def _no_steps(unknown: int, counted: int) -> Reason:
    if unknown == counted:
        return Reason(Code.NO_STEP_COUNTER)
    return Reason(Code.STEPS_MISSING, values={"missing": unknown, "active": counted})


def summarize(windows: Sequence[Window]) -> SpeedSummary:
    """Summarise one run's windows, all of one definition."""
    ranked, usual_s = active_windows(windows), _usual_window_s(windows)
    whole_windows, stretches = _of_usual_length(ranked, usual_s), _stretches(windows, ranked)
    definition = windows[0].definition if windows else None
    counts = (_shown_window_s(usual_s), definition, len(ranked), len(windows) - len(ranked))
    speeds = _speeds_by_streams(ranked, whole_windows)
    if len(ranked) < FEWEST_WINDOWS:
        reason = _too_few(windows, ranked)
        return SpeedSummary(*counts, reason=reason, speeds=speeds, no_typical=reason)
    summary = SpeedSummary(
        *counts,
        concurrency=_mean_running(ranked),
        factors=_factors(ranked, stretches),
        speeds=speeds,
        acceptance_peak=_extremes([w.acceptance_length for w in whole_windows]),
        acceptance_length=_acceptance_length(stretches),
    )
    return summary if summary.alone.typical_tps is not None else replace(summary, no_typical=_not_alone(speeds))


def acceptance_length(windows: Sequence[Window]) -> float | None:
    """Return 1 + accepted / drafts over the stretches of a mean; None if none of them counts drafts.

    It equals tokens per step if every step drafts. Acceptance over a whole run includes other windows.
    """
    return _acceptance_length(mean_stretches(windows))


def _acceptance_length(stretches: Sequence[DecodingStretch]) -> float | None:
    drafting_stretches = [stretch for stretch in stretches if stretch.accepted is not None and stretch.drafts]
    drafts = sum(stretch.drafts or 0.0 for stretch in drafting_stretches)
    return acceptance_length_of(sum(stretch.accepted or 0.0 for stretch in drafting_stretches), drafts)


def _speeds_by_streams(ranked: Sequence[Window], whole_windows: Sequence[Window]) -> tuple[ConcurrencySpeeds, ...]:
    """Return the speeds for each number of streams that stayed constant throughout at least one window."""
    stream_counts = sorted({int(w.streams) for w in ranked if w.streams})
    return tuple(
        _speeds_at(
            streams,
            [w for w in ranked if w.streams == streams],
            [w for w in whole_windows if w.streams == streams],
        )
        for streams in stream_counts
    )


def _speeds_at(streams: int, ranked: Sequence[Window], whole_windows: Sequence[Window]) -> ConcurrencySpeeds:
    peaks = (
        _extremes([w.decode_tps for w in whole_windows]),
        _extremes([w.acceptance_length for w in whole_windows]),
    )
    if len(ranked) < FEWEST_WINDOWS:
        return ConcurrencySpeeds(streams, len(ranked), peak=peaks[0], acceptance_peak=peaks[1])
    rates = np.array([w.decode_tps for w in ranked], dtype=np.float64)
    floor, low, high = (float(q) for q in np.percentile(rates, [10, 25, 75]))
    typical_tps = weighted_median(rates, np.array([w.dt_s for w in ranked]))
    return ConcurrencySpeeds(streams, len(ranked), typical_tps, low, high, floor, *peaks)


def _not_alone(speeds: Sequence[ConcurrencySpeeds]) -> Reason:
    """Return why active windows give no typical speed of one request alone."""
    if not speeds:
        return Reason(Code.CONCURRENCY_UNKNOWN)
    alone = next((at.windows for at in speeds if at.streams == 1), 0)
    together = [at.streams for at in speeds if at.streams > 1]
    return Reason(Code.SELDOM_ALONE, values={"windows": alone, "fewest": FEWEST_WINDOWS, "together": together})


def _extremes(values: Sequence[float | None]) -> Extremes | None:
    known_values = [value for value in values if value is not None]
    return (
        Extremes(float(np.percentile(known_values, 99)), max(known_values), len(known_values)) if known_values else None
    )


def _usual_window_s(windows: Sequence[Window]) -> float | None:
    """Return the length of most windows; None if there is none, since log lines may have different lengths."""
    lengths = [w.window_s for w in windows if w.window_s is not None]
    if not lengths or len(lengths) < len(windows):
        return None
    usual_s = float(np.median(lengths))
    close_count = np.count_nonzero(np.abs(np.array(lengths) - usual_s) <= SAME_LENGTH * usual_s)
    return usual_s if close_count >= USUAL_SHARE * len(lengths) else None


def _shown_window_s(usual_s: float | None) -> float | None:
    """Return the usual length, rounded for display: samples are never exactly 5 s apart."""
    return None if usual_s is None else float(f"{usual_s:.2g}")


def _is_close(length_s: float | None, usual_s: float) -> bool:
    return length_s is not None and abs(length_s - usual_s) <= SAME_LENGTH * usual_s


def _too_few(windows: Sequence[Window], ranked: Sequence[Window]) -> Reason:
    if not windows:
        return Reason(Code.NO_WINDOW)
    counts = {"active": len(ranked), "windows": len(windows), "fewest": FEWEST_WINDOWS}
    return Reason(Code.TOO_FEW_WINDOWS, values=counts)


def _mean_running(ranked: Sequence[Window]) -> float | None:
    counts = [w.requests_running for w in ranked if w.requests_running is not None]
    return float(np.mean(counts)) if counts else None
