"""Whether a run's acceptance has one band or two, and whether speed follows it.

Formula: one or two Gaussians are fitted to the acceptance length of active windows; two bands if the BIC falls by more
than 6, the means are more than D = 2 apart (Ashman's D, `sqrt(2) * |m1 - m2| / sqrt(s1^2 + s2^2)`), the smaller has
more than 10 % of the windows and there are at least 12. They are cut where both are as likely. Speed is told apart by
acceptance where the bands' median steps/s differ by less than 5 % (Kass and Raftery 1995 for the BIC).
Caveats: a window in which two texts mix lies between the bands and blurs them, so windows must be short; in 2000
simulated runs of one Gaussian a second band was found in 0.6 % at 12 windows and in 0.2 % at 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.runs.windows import Window, active
from reasons import Code, Reason

FEWEST = 12
BIC_GAIN, SEPARATION, SMALLEST = 6.0, 2.0, 0.10
SAME_STEPS = 0.05
ITERATIONS = 200
Floats = npt.NDArray[np.float64]


class Mixture(NamedTuple):
    """Two Gaussians, the lower mean first, held against one."""

    means: tuple[float, float]
    sds: tuple[float, float]
    weights: tuple[float, float]
    bic_gain: float
    separation: float

    @property
    def is_two(self) -> bool:
        return self.bic_gain > BIC_GAIN and self.separation > SEPARATION and min(self.weights) > SMALLEST


class Band(NamedTuple):
    """Windows of one band; medians, None where no window has one."""

    windows: int
    share: float
    acceptance_length: float
    decode_tps: float | None
    steps_per_s: float | None


class Bands(NamedTuple):
    """One band, or two with the lower first; or a reason. `cause` of two: what speed follows."""

    bands: tuple[Band, ...] = ()
    cause: Literal["acceptance", "steps", "unknown"] | None = None
    reason: Reason | None = None


def bands_of(windows: Sequence[Window]) -> Bands:
    """The bands of a run's active windows whose drafts were counted."""
    known = [w for w in active(windows) if w.acceptance_length is not None]
    if not known:
        return Bands(reason=Reason(Code.NO_SPECULATION))
    if len(known) < FEWEST:
        return Bands(reason=Reason(Code.TOO_FEW_FOR_BANDS, values={"windows": len(known), "fewest": FEWEST}))
    lengths = np.array([w.acceptance_length for w in known], dtype=np.float64)
    mixture = fit_two(lengths)
    if mixture is None or not mixture.is_two:
        return Bands((_band(known, len(known)),))
    is_upper = _upper(lengths, mixture)
    lower, upper = ([w for w, up in zip(known, is_upper, strict=True) if bool(up) is side] for side in (False, True))
    found = (_band(lower, len(known)), _band(upper, len(known)))
    return Bands(found, cause_of([band.steps_per_s for band in found]))


def cause_of(steps_per_s: Sequence[float | None]) -> Literal["acceptance", "steps", "unknown"]:
    """'acceptance' where the rates of steps are alike, so that nothing else is left to tell the speeds apart."""
    known = [one for one in steps_per_s if one is not None]
    if len(known) < len(steps_per_s):
        return "unknown"
    return "acceptance" if max(known) - min(known) <= SAME_STEPS * max(known) else "steps"


def fit_two(values: Floats) -> Mixture | None:
    """The likelier mixture of those that start at several cuts; None where all values are one."""
    if np.ptp(values) == 0:
        return None
    floor = max(float(np.ptp(values)) / 10, 1e-9)  # a few values that happen to be close are no band of their own
    starts = [np.quantile(values, cut) for cut in (0.2, 0.35, 0.5, 0.65, 0.8)]
    fits = [_expect_and_maximize(values, float(cut), floor) for cut in starts]
    likelihood, means, sds, weights = max(fits, key=lambda fit: fit[0])
    one = _log_density(values, float(values.mean()), max(float(values.std()), floor)).sum()
    gain = 2.0 * (likelihood - one) - 3.0 * np.log(len(values))
    order = np.argsort(means)
    means, sds, weights = means[order], sds[order], weights[order]
    apart = np.sqrt(2.0) * (means[1] - means[0]) / np.hypot(*sds)
    return Mixture(_pair(means), _pair(sds), _pair(weights), float(gain), float(apart))


def _expect_and_maximize(values: Floats, cut: float, floor: float) -> tuple[float, Floats, Floats, Floats]:
    """The likelihood, means, sds and weights that expectation and maximization end at from one cut."""
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
    """Which values are likelier in the upper band; none below the lower mean, however wide the upper one is."""
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
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
