"""Which values of a setting a study starts: the telling ones first, then what their runs do not predict away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from analysis.study.prediction import MeasuredK, Prediction, cannot_be_best, predict, slack_of

FEWEST_ARMS = 2  # a winner is one of two measured ones at least


@dataclass(frozen=True, slots=True)
class Choice:
    """What a study of values does next, beside its race."""

    probe: str | None = None  # the one arm that starts next, before the others
    predicted: Mapping[str, Prediction] = field(default_factory=dict)
    away: tuple[str, ...] = ()  # arms that are not started: they cannot be best


def choose_k(
    ks: Mapping[str, int],
    measured: Mapping[str, MeasuredK],
    failed: Collection[str] = (),
    sd: float | None = None,
    most_step_gain: float | None = None,
) -> Choice:
    """Choose among arms that differ in their number of draft tokens: the largest starts first, then the smallest.

    ks: arm -> k, in the order of the study, whose first arm always starts: ratios are given against it. measured: those
    with a value. failed: those that cannot run. sd: between starts, of logarithms, as far as repeats show it.
    """
    alive = sorted((name for name in ks if name not in failed), key=ks.__getitem__)
    known = {name: one for name, one in measured.items() if name in alive}
    if len(alive) <= FEWEST_ARMS:
        return Choice()
    if alive[-1] not in known:
        return Choice(alive[-1])
    predicted = {name: predict(ks[name], _but(name, known), most_step_gain) for name in alive[:-1]}
    open_ones = {name: one for name, one in predicted.items() if name not in known and name != next(iter(ks))}
    best = max(known.values(), key=lambda one: one.log_speed)
    away = cannot_be_best(open_ones, best, slack_of(sd))
    if known[alive[-1]].shares and alive[0] not in {*known, *away}:
        return Choice(alive[0], predicted, tuple(away))
    return Choice(None, predicted, tuple(away[: len(alive) - FEWEST_ARMS]))


def _but(name: str, known: Mapping[str, MeasuredK]) -> list[MeasuredK]:
    """An arm that has run is predicted by the others too, to be held against what was measured."""
    return [one for other, one in known.items() if other != name]
