"""Result of a formula: a number, or the names of its unknown inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reasons import Code, Reason


class Quantity(NamedTuple):
    """A value, or None with a reason."""

    value: float | None = None
    reason: Reason | None = None


def evaluate(formula: Callable[..., float], **inputs: Any) -> Quantity:
    """Evaluate the formula; if inputs are None, return a reason with their names."""
    if missing := tuple(name for name, value in inputs.items() if value is None):
        return Quantity(None, Reason(Code.INPUTS_UNKNOWN, values={"inputs": missing}))
    return Quantity(formula(**inputs))
