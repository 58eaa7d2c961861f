"""A number that a formula gives, or which of its inputs are unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reasons import Code, Reason


class Quantity(NamedTuple):
    """A value, or None with the reason."""

    value: float | None = None
    reason: Reason | None = None


def known(formula: Callable[..., float], **inputs: Any) -> Quantity:
    """The formula of these inputs; where some are None, unknown for want of these by name."""
    if missing := tuple(name for name, value in inputs.items() if value is None):
        return Quantity(None, Reason(Code.INPUTS_UNKNOWN, values={"inputs": missing}))
    return Quantity(formula(**inputs))
