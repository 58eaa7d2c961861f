"""From a run's windows to the few numbers people quote: peak, typical, floor, and the two factors of speed.

Definitions: peak is the 99th percentile of active windows of one request alone, typical their 25th to 75th percentile,
the headline their time-weighted median, the floor their 10th percentile. A window is active when it holds decoding and
nothing else; the store labels them. One that is known for a part of its length, or longer than the others, is in no
peak: a rate over 0.4 s is no peak of 2 s. There are also peaks of each number of streams that held throughout a window,
for four streams together are faster than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engines.acceptance import acceptance_length_of
from reasons import Code, Reason

Floats = npt.NDArray[np.float64]
MOST = 0.8  # share of a run's windows that make a length its usual one
SAME_LENGTH = 0.1  # looks come a little early or late
FEWEST_WINDOWS = 3  # under this many active windows a percentile says nothing


@dataclass(frozen=True, slots=True)
class Window:
    """One window of one run: counts and the seconds they cover, from which every rate follows."""

    since_ready_s: float
    window_s: float | None  # of the cut, or as the log's lines state it
    dt_s: float
    tokens: float | None  # decode tokens
    steps: float | None  # decode steps, one per running request; None where the engine counts none
    decode_tps: float | None
    tokens_per_step: float | None
    steps_per_s: float | None
    acceptance_length: float | None
    activity: str | None  # active | mixed | prefill | idle | None when unknowable
    definition: str
    requests_running: float | None = None
    streams: float | None = None  # requests running throughout; None where their number changed
    drafts: float | None = None
    accepted: float | None = None  # of the drafts' tokens
    is_whole: bool = True  # known for all of its length


@dataclass(frozen=True, slots=True)
class Factors:
    """decode_tps = steps_per_s x tokens_per_step over the same active windows: an identity, not a model.

    Steps per second are counted or unknown, never made from the other two.
    """

    decode_tps: float
    steps_per_s: float | None
    tokens_per_step: float | None
    reason: Reason | None = None  # why a factor is unknown


@dataclass(frozen=True, slots=True)
class Extremes:
    """The highest of some windows, both ways people mean it, and of how many windows that is."""

    p99: float
    maximum: float
    windows: int


@dataclass(frozen=True, slots=True)
class Peak:
    """The peaks of the windows in which so many requests ran throughout; acceptance None where no draft was counted."""

    streams: int
    decode_tps: Extremes
    acceptance_length: Extremes | None


@dataclass(frozen=True, slots=True)
class SpeedSummary:
    """What a run's active windows say; every number in decode tok/s. None with `reason` when they say nothing."""

    window_s: float | None  # None: each line of a log has its own
    definition: str | None
    active_windows: int
    excluded_windows: int
    peak_tps: float | None = None  # p99 of one request alone; None where no whole window holds one
    typical_tps: float | None = None
    typical_low_tps: float | None = None
    typical_high_tps: float | None = None
    floor_tps: float | None = None
    concurrency: float | None = None
    factors: Factors | None = None
    reason: Reason | None = None
    maximum_tps: float | None = None  # likewise
    peaks: tuple[Peak, ...] = ()  # by streams, the fewest first
    acceptance_peak: Extremes | None = None  # of the acceptance length, whatever ran at once
    acceptance_length: float | None = None  # over the windows of the factors

    @property
    def single_stream_peak(self) -> Peak | None:
        """The peaks of one request alone."""
        return next((peak for peak in self.peaks if peak.streams == 1), None)


def active(windows: Sequence[Window]) -> list[Window]:
    """The windows that may be ranked: pure decoding with a known rate."""
    return [w for w in windows if w.activity == "active" and w.decode_tps is not None]


def peak_worthy(windows: Sequence[Window]) -> list[Window]:
    """The active windows whose rate is one of the usual length, known for all of it."""
    usual_s = _usual_window_s(windows)
    return [w for w in active(windows) if w.is_whole and (usual_s is None or _is_close(w.window_s, usual_s))]


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value at half of the total weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, share[-1] / 2.0)])


def speed_factors(windows: Sequence[Window]) -> Factors | None:
    """Tokens over time split into steps over time and tokens over steps, summed over active windows."""
    counted = [w for w in active(windows) if w.tokens is not None and w.dt_s > 0]
    if not counted:
        return None
    seconds = sum(w.dt_s for w in counted)
    tokens = sum(w.tokens or 0.0 for w in counted)
    if unknown := sum(w.steps is None for w in counted):
        return Factors(tokens / seconds, None, _given_per_step(counted), _no_steps(unknown, len(counted)))
    steps = sum(w.steps or 0.0 for w in counted)
    if steps <= 0:
        return Factors(tokens / seconds, None, None, Reason(Code.NO_STEP_COUNTED))
    return Factors(tokens / seconds, steps / seconds, tokens / steps)


def _given_per_step(counted: Sequence[Window]) -> float | None:
    """Tokens over steps where each window gives that ratio and no rate of steps (SGLang's accept length)."""
    pairs = [(w.tokens or 0.0, w.tokens_per_step) for w in counted]
    steps = [tokens / ratio for tokens, ratio in pairs if ratio]
    return sum(tokens for tokens, _ in pairs) / sum(steps) if len(steps) == len(pairs) and sum(steps) > 0 else None


def _no_steps(unknown: int, counted: int) -> Reason:
    if unknown == counted:
        return Reason(Code.NO_STEP_COUNTER)
    return Reason(Code.STEPS_MISSING, values={"missing": unknown, "active": counted})


def summarize(windows: Sequence[Window]) -> SpeedSummary:
    """Peak, typical and floor of one run's windows, all of one definition."""
    ranked, whole = active(windows), peak_worthy(windows)
    definition = windows[0].definition if windows else None
    counts = (_common_window_s(windows), definition, len(ranked), len(windows) - len(ranked))
    if len(ranked) < FEWEST_WINDOWS:
        return SpeedSummary(*counts, reason=_too_few(windows, ranked), peaks=peaks_of(whole))
    rates = np.array([w.decode_tps for w in ranked], dtype=np.float64)
    floor, low, high = (float(q) for q in np.percentile(rates, [10, 25, 75]))
    alone = _extremes([w.decode_tps for w in whole if w.streams == 1])
    return SpeedSummary(
        *counts,
        peak_tps=alone.p99 if alone else None,
        typical_tps=weighted_median(rates, np.array([w.dt_s for w in ranked])),
        typical_low_tps=low,
        typical_high_tps=high,
        floor_tps=floor,
        concurrency=_mean_running(ranked),
        factors=speed_factors(windows),
        maximum_tps=alone.maximum if alone else None,
        peaks=peaks_of(whole),
        acceptance_peak=_extremes([w.acceptance_length for w in whole]),
        acceptance_length=acceptance_length(windows),
    )


def acceptance_length(windows: Sequence[Window]) -> float | None:
    """1 + accepted / drafts over the windows of `speed_factors`; None where none of them counts drafts.

    Equal to that tokens per step where every step drafts. Acceptance over a whole run is of other windows too.
    """
    counted = [w for w in active(windows) if w.tokens is not None and w.dt_s > 0]
    pairs = [(w.accepted, w.drafts) for w in counted if w.accepted is not None and w.drafts]
    drafts = sum(drafts or 0.0 for _, drafts in pairs)
    return acceptance_length_of(sum(accepted or 0.0 for accepted, _ in pairs), drafts)


def peaks_of(whole: Sequence[Window]) -> tuple[Peak, ...]:
    """The peaks for each number of streams that held throughout at least one window."""
    held = sorted({int(w.streams) for w in whole if w.streams})
    return tuple(peak for streams in held if (peak := _peak([w for w in whole if w.streams == streams], streams)))


def _peak(windows: Sequence[Window], streams: int) -> Peak | None:
    speed = _extremes([w.decode_tps for w in windows])
    return Peak(streams, speed, _extremes([w.acceptance_length for w in windows])) if speed else None


def _extremes(values: Sequence[float | None]) -> Extremes | None:
    known = [value for value in values if value is not None]
    return Extremes(float(np.percentile(known, 99)), max(known), len(known)) if known else None


def _usual_window_s(windows: Sequence[Window]) -> float | None:
    """The length of most windows; None where there is no such length, for lines of a log may each have their own."""
    lengths = [w.window_s for w in windows if w.window_s is not None]
    if not lengths or len(lengths) < len(windows):
        return None
    usual_s = float(np.median(lengths))
    return usual_s if sum(_is_close(length, usual_s) for length in lengths) >= MOST * len(lengths) else None


def _common_window_s(windows: Sequence[Window]) -> float | None:
    """The usual length as it is shown: looks are never exactly 5 s apart."""
    usual_s = _usual_window_s(windows)
    return None if usual_s is None else float(f"{usual_s:.2g}")


def _is_close(length_s: float | None, usual_s: float) -> bool:
    return length_s is not None and abs(length_s - usual_s) <= SAME_LENGTH * usual_s


def _too_few(windows: Sequence[Window], ranked: Sequence[Window]) -> Reason:
    if not windows:
        return Reason(Code.NO_WINDOW)
    counts = {"active": len(ranked), "windows": len(windows), "fewest": FEWEST_WINDOWS}
    return Reason(Code.TOO_FEW_WINDOWS, values=counts)


def _mean_running(ranked: Sequence[Window]) -> float | None:
    known = [w.requests_running for w in ranked if w.requests_running is not None]
    return float(np.mean(known)) if known else None
