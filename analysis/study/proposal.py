"""Which combination of several settings is tried next: Optuna's TPE, told all that was tried, anew at every look.

Optuna is an extra and keeps nothing: what was tried stands in the store, so that whoever goes on proposes as before.
"""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from errors import PitwallError

NOT_INSTALLED = "More than two [[vary]] take Optuna, which is not installed: pip install -r requirements-optuna.txt."
MOST_ASKED = 40  # before one is drawn that was not tried yet
FEWEST_DRAWN = 4  # by chance, before TPE has anything to go by
Choice = tuple[int, ...]  # which value of each setting, from 0


class OptunaMissingError(PitwallError):
    """Optuna is not installed here."""


class Setting(NamedTuple):
    """How many values it has; whether they are numbers in their order, so that neighbours are alike."""

    values: int
    is_ordered: bool


class Trial(NamedTuple):
    """One combination that started: `score` is higher where better, None where it failed."""

    choice: Choice
    score: float | None


def check_installed() -> None:
    """Raises OptunaMissingError."""
    if find_spec("optuna") is None:
        raise OptunaMissingError(NOT_INSTALLED)


def propose(settings: Sequence[Setting], trials: Sequence[Trial], seed: int) -> Choice | None:
    """A combination that was not tried; None where all were. Raises OptunaMissingError."""
    check_installed()
    tried = {one.choice for one in trials}
    if len(tried) >= math.prod(one.values for one in settings):
        return None
    study, distributions = _study(settings, trials, seed + len(tried))
    import optuna

    for _ in range(MOST_ASKED):
        asked = study.ask(distributions)
        choice = tuple(asked.params[name] for name in distributions)
        if choice not in tried:
            return choice
        study.tell(asked, state=optuna.trial.TrialState.FAIL)
    left = [one for one in itertools.product(*(range(one.values) for one in settings)) if one not in tried]
    return random.Random(seed + len(tried)).choice(left)


def _study(settings: Sequence[Setting], trials: Sequence[Trial], seed: int) -> tuple[Any, dict[str, Any]]:
    """A study of Optuna's with all trials in it; one that failed counts as the worst there was."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions: dict[str, Any] = {
        f"setting {place}": optuna.distributions.IntDistribution(0, one.values - 1)
        if one.is_ordered
        else optuna.distributions.CategoricalDistribution(tuple(range(one.values)))
        for place, one in enumerate(settings)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        drawn = max(FEWEST_DRAWN, len(settings) + 1)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=drawn, multivariate=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    worst = min((one.score for one in trials if one.score is not None), default=0.0)
    study.add_trials(
        optuna.trial.create_trial(
            params=dict(zip(distributions, one.choice, strict=True)),
            distributions=distributions,
            value=worst if one.score is None else one.score,
        )
        for one in trials
    )
    return study, distributions
