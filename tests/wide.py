"""Further values of a parametrized test that only `make test-pages` runs."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet


def wide_params(*values: object) -> list[ParameterSet]:
    """Return parameters with the mark `wide`."""
    return [pytest.param(value, marks=pytest.mark.wide) for value in values]
