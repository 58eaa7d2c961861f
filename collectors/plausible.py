"""Keeps impossible numbers out of the store: not finite, negative, or too large to have been counted.

Such a value becomes None in its sample, as any unknown value, and is named with its reason in the collector's health;
the rest of the sample stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from samples import BELOW_ZERO, MOST, UNKNOWABLE, Batch, Sample

Refusals = set[tuple[str, str]]  # (name, why it cannot be)


def without_impossible(batch: Batch) -> tuple[Batch, Refusals]:
    """The batch as it may be stored, and what was left out of it."""
    refused: Refusals = set()
    samples = tuple(_sifted(sample, refused) for sample in batch.samples)
    return (Batch(samples, batch.positions) if refused else batch), refused


def why_impossible(name: str, value: float) -> str | None:
    """Why a number of this name cannot be, in a few words; None for one that can."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite"
    if value < 0 and name not in BELOW_ZERO:
        return "negative"
    return "more than 2^53" if value > MOST else None


def _sifted(sample: Sample, refused: Refusals) -> Sample:
    changed: dict[str, Any] = {}
    for name in UNKNOWABLE[type(sample)]:
        value = getattr(sample, name)
        if value is None or isinstance(value, str):
            continue
        kept = _kept(name, value, refused)
        if kept is not value:
            changed[name] = kept
    return replace(sample, **changed) if changed else sample


def _kept(name: str, value: Any, refused: Refusals) -> Any:
    numbers: Iterable[Any] = value if isinstance(value, list) else (value,)
    for number in numbers:
        why = why_impossible(name, number) if isinstance(number, int | float) else None
        if why:
            refused.add((name, why))
            return None
    return value
