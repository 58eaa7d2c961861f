"""Detects whether a run's acceptance has one band or two, and whether speed follows it.

Formula: one or two Gaussians are fitted to the acceptance length of active windows; two bands if the BIC falls by more
than 6, the means are more than D = 2 apart (Ashman's D, `sqrt(2) * |m1 - m2| / sqrt(s1^2 + s2^2)`), the smaller has
more than 10 % of the windows and there are at least 12. The cut is where both are equally likely. Acceptance explains
the speed if the bands' median steps/s differ by less than 5 % (Kass and Raftery 1995 for the BIC).
Caveats: a window that mixes two texts lies between the bands and blurs them, so windows must be short; in 2000
simulated runs of one Gaussian a second band was found in 0.6 % at 12 windows and in 0.2 % at 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.runs.windows import Window, active_windows
from reasons import Code, Reason

MIN_WINDOWS = 12
BIC_GAIN, SEPARATION, SMALLEST = 6.0, 2.0, 0.10
SAME_STEPS = 0.05
ITERATIONS = 200
Floats = npt.NDArray[np.float64]


class Mixture(NamedTuple):
    """Two Gaussians, the lower mean first, compared with one."""

    means: tuple[float, float]
    sds: tuple[float, float]
    weights: tuple[float, float]
    bic_gain: float
    separation: float

    @property
    def is_two(self) -> bool:
        return self.bic_gain > BIC_GAIN and self.separation > SEPARATION and min(self.weights) > SMALLEST


class Band(NamedTuple):
    """Windows of one band, with medians; None if no window has a value."""

    windows: int
    share: float
    acceptance_length: float
    decode_tps: float | None
    steps_per_s: float | None


class Bands(NamedTuple):
    """One band, or two with the lower first, or a reason. `cause`: what the speed of two bands follows."""

    bands: tuple[Band, ...] = ()
    cause: Literal["acceptance", "steps", "unknown"] | None = None
    reason: Reason | None = None


def bands_of(windows: Sequence[Window]) -> Bands:
    """Return the bands of a run's active windows with counted drafts."""
    counted_windows = [w for w in active_windows(windows) if w.acceptance_length is not None]
    if not counted_windows:
        return Bands(reason=Reason(Code.NO_SPECULATION))
    if len(counted_windows) < MIN_WINDOWS:
        return Bands(
            reason=Reason(Code.TOO_FEW_FOR_BANDS, values={"windows": len(counted_windows), "fewest": MIN_WINDOWS})
        )
    lengths = np.array([w.acceptance_length for w in counted_windows], dtype=np.float64)
    mixture = fit_two(lengths)
    if mixture is None or not mixture.is_two:
        return Bands((_band(counted_windows, len(counted_windows)),))
    is_upper = _upper(lengths, mixture)
    lower, upper = (
        [w for w, up in zip(counted_windows, is_upper, strict=True) if bool(up) is side] for side in (False, True)
    )
    bands = (_band(lower, len(counted_windows)), _band(upper, len(counted_windows)))
    return Bands(bands, cause_of([band.steps_per_s for band in bands]))


def cause_of(steps_per_s: Sequence[float | None]) -> Literal["acceptance", "steps", "unknown"]:
    """Return 'acceptance' if the step rates are alike, so that only acceptance can explain the speeds."""
    rates = [rate for rate in steps_per_s if rate is not None]
    if len(rates) < len(steps_per_s):
        return "unknown"
    return "acceptance" if max(rates) - min(rates) <= SAME_STEPS * max(rates) else "steps"


def fit_two(values: Floats) -> Mixture | None:
    """Return the likeliest mixture over several starting cuts; None if all values are equal."""
    if np.ptp(values) == 0:
        return None
    floor = max(float(np.ptp(values)) / 10, 1e-9)  # a few close values are no band
    starts = [np.quantile(values, cut) for cut in (0.2, 0.35, 0.5, 0.65, 0.8)]
    fits = [_expect_and_maximize(values, float(cut), floor) for cut in starts]
    likelihood, means, sds, weights = max(fits, key=lambda fit: fit[0])
    single_likelihood = _log_density(values, float(values.mean()), max(float(values.std()), floor)).sum()
    gain = 2.0 * (likelihood - single_likelihood) - 3.0 * np.log(len(values))
    order = np.argsort(means)
    means, sds, weights = means[order], sds[order], weights[order]
    separation = np.sqrt(2.0) * (means[1] - means[0]) / np.hypot(*sds)
    return Mixture(_pair(means), _pair(sds), _pair(weights), float(gain), float(separation))


def _expect_and_maximize(values: Floats, cut: float, floor: float) -> tuple[float, Floats, Floats, Floats]:
    """Return likelihood, means, sds and weights after expectation-maximization from one cut."""
    upper = (values > cut).astype(np.float64)
    likelihood = -np.inf
    for _ in range(ITERATIONS):
        shares = np.stack([1.0 - upper, upper])
        counts = np.maximum(shares.sum(axis=1), 1e-9)
        means = shares @ values / counts
        sds = np.maximum(np.sqrt((shares * (values - means[:, None]) ** 2).sum(axis=1) / counts), floor)
        weights = counts / counts.sum()
        logs = np.stack([np.log(weights[i]) + _log_density(values, means[i], sds[i]) for i in (0, 1)])
        before, likelihood = likelihood, float(np.logaddexp(*logs).sum())
        upper = np.exp(logs[1] - np.logaddexp(*logs))
        if likelihood - before < 1e-6:
            break
    return likelihood, means, sds, weights


def _log_density(values: Floats, mean: float, sd: float) -> Floats:
    density: Floats = -0.5 * ((values - mean) / sd) ** 2 - np.log(sd * np.sqrt(2.0 * np.pi))
    return density


def _upper(values: Floats, mixture: Mixture) -> npt.NDArray[np.bool_]:
    """Return a mask of values likelier in the upper band; never below the lower mean, however wide the upper one is."""
    logs = [
        np.log(mixture.weights[i]) + _log_density(values, mixture.means[i], mixture.sds[i]) for i in (0, 1)
    ]  # fmt: skip
    likelier: npt.NDArray[np.bool_] = logs[1] > logs[0]
    return (likelier & (values > mixture.means[0])) | (values >= mixture.means[1])


def _band(windows: Sequence[Window], total: int) -> Band:
    length, tps, steps = (
        _median([getattr(w, name) for w in windows]) for name in ("acceptance_length", "decode_tps", "steps_per_s")
    )
    return Band(len(windows), len(windows) / total, length or 0.0, tps, steps)


def _median(values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return float(np.median(known_values)) if known_values else None


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
