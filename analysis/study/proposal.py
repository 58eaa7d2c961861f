"""Proposes the next combination of several settings by Optuna's TPE, rebuilt from all trials each time.

Optuna is an optional dependency and keeps no state: the store has the trials, so a restart proposes the same.
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

NOT_INSTALLED = "More than two [[vary]] need Optuna, which is not installed: pip install -r requirements-optuna.txt."
MAX_ASKS = 40  # before an untried combination is drawn at random
MIN_RANDOM_TRIALS = 4  # random ones, before TPE has enough data
ValueIndexes = tuple[int, ...]  # which value of each setting, from 0


class OptunaMissingError(PitwallError):
    """Optuna is not installed here."""


class Setting(NamedTuple):
    """Number of values of a setting, and whether they are ordered numbers, so that neighbours are similar."""

    values: int
    is_ordered: bool


class Trial(NamedTuple):
    """One started combination: a higher `score` is better, None: failed."""

    choice: ValueIndexes
    score: float | None


def check_installed() -> None:
    """Raise OptunaMissingError if Optuna is missing."""
    if find_spec("optuna") is None:
        raise OptunaMissingError(NOT_INSTALLED)


def propose_combination(settings: Sequence[Setting], trials: Sequence[Trial], seed: int) -> ValueIndexes | None:
    """Return an untried combination; None if all were tried. Raises OptunaMissingError."""
    check_installed()
    tried_choices = {trial.choice for trial in trials}
    if len(tried_choices) >= math.prod(setting.values for setting in settings):
        return None
    study, distributions = _study(settings, trials, seed + len(tried_choices))
    import optuna

    for _ in range(MAX_ASKS):
        optuna_trial = study.ask(distributions)
        choice = tuple(optuna_trial.params[name] for name in distributions)
        if choice not in tried_choices:
            return choice
        study.tell(optuna_trial, state=optuna.trial.TrialState.FAIL)
    untried = [
        choice
        for choice in itertools.product(*(range(setting.values) for setting in settings))
        if choice not in tried_choices
    ]
    return random.Random(seed + len(tried_choices)).choice(untried)


def _study(settings: Sequence[Setting], trials: Sequence[Trial], seed: int) -> tuple[Any, dict[str, Any]]:
    """Return an Optuna study with all trials; a failed one counts as the worst score."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions: dict[str, Any] = {
        f"setting {index}": optuna.distributions.IntDistribution(0, setting.values - 1)
        if setting.is_ordered
        else optuna.distributions.CategoricalDistribution(tuple(range(setting.values)))
        for index, setting in enumerate(settings)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        random_trials = max(MIN_RANDOM_TRIALS, len(settings) + 1)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=random_trials, multivariate=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    worst = min((trial.score for trial in trials if trial.score is not None), default=0.0)
    study.add_trials(
        optuna.trial.create_trial(
            params=dict(zip(distributions, trial.choice, strict=True)),
            distributions=distributions,
            value=worst if trial.score is None else trial.score,
        )
        for trial in trials
    )
    return study, distributions
