"""Choice of the values that a study starts: the most informative first, then those not excluded by prediction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from analysis.study.prediction import MeasuredK, Prediction, cannot_be_best, predict, slack_of

FEWEST_ARMS = 2  # a winner needs at least one measured rival


@dataclass(frozen=True, slots=True)
class StudyChoice:
    """Next step of a study of values, besides its race."""

    probe: str | None = None  # the arm that starts next, before the others
    predicted: Mapping[str, Prediction] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()  # arms that are not started: they cannot be best


def choose_k(
    ks: Mapping[str, int],
    measured: Mapping[str, MeasuredK],
    failed: Collection[str] = (),
    sd: float | None = None,
    most_step_gain: float | None = None,
) -> StudyChoice:
    """Choose among arms that differ in their number of draft tokens k: the largest starts first, then the smallest.

    ks: arm -> k, in the order of the study; its first arm always starts, as the reference of ratios. measured: arms
    with a value. failed: arms that cannot run. sd: between starts, of logarithms, if repeats show it.
    """
    alive = sorted((name for name in ks if name not in failed), key=ks.__getitem__)
    measured_alive = {name: result for name, result in measured.items() if name in alive}
    if len(alive) <= FEWEST_ARMS:
        return StudyChoice()
    if alive[-1] not in measured_alive:
        return StudyChoice(alive[-1])
    predicted = {name: predict(ks[name], _without(name, measured_alive), most_step_gain) for name in alive[:-1]}
    unmeasured = {
        name: prediction
        for name, prediction in predicted.items()
        if name not in measured_alive and name != next(iter(ks))
    }
    best = max(measured_alive.values(), key=lambda result: result.log_speed)
    excluded = cannot_be_best(unmeasured, best, slack_of(sd))
    if measured_alive[alive[-1]].shares and alive[0] not in {*measured_alive, *excluded}:
        return StudyChoice(alive[0], predicted, tuple(excluded))
    return StudyChoice(None, predicted, tuple(excluded[: len(alive) - FEWEST_ARMS]))


def _without(name: str, measured: Mapping[str, MeasuredK]) -> list[MeasuredK]:
    """Return the other measured arms, so that a measured arm is predicted too and can be compared with its value."""
    return [result for arm_name, result in measured.items() if arm_name != name]
