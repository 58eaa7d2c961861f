"""Keeps impossible numbers out of the store: not finite, negative, or larger than any real count.

Such a value becomes None in its sample, like any unknown value, and appears with its reason in the collector's health;
the rest of the sample stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from samples import LARGEST_COUNT, OPTIONAL_FIELDS, SIGNED_FIELDS, Batch, Sample

Refusals = set[tuple[str, str]]  # (field name, reason)


def without_impossible(batch: Batch) -> tuple[Batch, Refusals]:
    """Return the batch without impossible values, and the values that were removed."""
    refused: Refusals = set()
    samples = tuple(_clear_impossible(sample, refused) for sample in batch.samples)
    return (Batch(samples, batch.positions) if refused else batch), refused


def why_impossible(name: str, value: float) -> str | None:
    """Return the reason why a field cannot have this value, in a few words; None if it can."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite"
    if value < 0 and name not in SIGNED_FIELDS:
        return "negative"
    return "more than 2^53" if value > LARGEST_COUNT else None


def _clear_impossible(sample: Sample, refused: Refusals) -> Sample:
    changed: dict[str, Any] = {}
    for name in OPTIONAL_FIELDS[type(sample)]:
        value = getattr(sample, name)
        if value is None or isinstance(value, str):
            continue
        possible = _value_or_none(name, value, refused)
        if possible is not value:
            changed[name] = possible
    return replace(sample, **changed) if changed else sample


def _value_or_none(name: str, value: Any, refused: Refusals) -> Any:
    numbers: Iterable[Any] = value if isinstance(value, list) else (value,)
    for number in numbers:
        reason = why_impossible(name, number) if isinstance(number, int | float) else None
        if reason:
            refused.add((name, reason))
            return None
    return value
