"""Replicates with an exact mean and spread, for the tests of the verdict."""

from __future__ import annotations

import numpy as np


def around(ratio: float, sd: float, n: int) -> list[float]:
    """n values whose logs have this mean and exactly this sd."""
    steps = np.linspace(-1, 1, n)
    return [float(x) for x in ratio * np.exp(sd * steps / steps.std(ddof=1))]
