"""Facts that make two runs two arms: what was served, how, on what, and under which load.

An unknown never equals another unknown. Where a fact is unknown, something that implies it must be equal instead: the
model's path on one machine for its files, the executable for the version, the machine for the GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.evidence.loads import compared_params

# The log's numbers of equal servers differ a little. The weights' memory is rounded, and some engines compute it from
# the GPU's free memory, which moves by some hundred MiB. KV capacity is what a profiling run leaves: caches of compiled
# kernels, captured graphs and other processes' memory move it by several per cent.
WEIGHTS_TOLERANCE = 0.02
WEIGHTS_ROUNDING_GIB = 0.3
KV_TOLERANCE = 0.10


class ArmDifference(NamedTuple):
    """One fact in which two runs differ."""

    fact: str  # a field of ServerSetup, 'workload', or 'settings.' and the name of a setting
    values: tuple[Any, Any]  # of the first and the second run; None: unknown or not set
    stands_for: str | None = None  # the unknown fact which this one would have shown to be equal


class RunSignature(NamedTuple):
    """A run with its precomputed facts: a run of a long list is compared with hundreds."""

    run: RunFacts
    workload: list[str]
    unknown: tuple[str, ...]


IDENTITY_FIELDS = ("model_files", "engine_version", "gpus")  # may be unknown; then something else must be equal
STRICT_FIELDS = ("engine", "image")
NOTHING_IMPLIES_IT = "command"  # what a run lacks if it cannot show an unknown fact to be equal


def signature_of(run: RunFacts) -> RunSignature:
    """Return the run with the facts that a comparison needs."""
    return RunSignature(run, workload_of(run), unknown_of(run.served))


def differences_between(first: RunSignature, second: RunSignature) -> Iterator[ArmDifference]:
    """Yield each fact that makes these runs two arms; nothing if they repeat each other."""
    if first.workload != second.workload:
        yield ArmDifference("workload", (first.workload, second.workload))
    yield from _differing_facts(first.run.served, second.run.served)
    yield from _unshown_facts(first, second)
    yield from _differing_settings(first.run.served.settings, second.run.served.settings)
    yield from _differing_log_numbers(first.run.served, second.run.served)


def _differing_facts(first: ServerSetup, second: ServerSetup) -> Iterator[ArmDifference]:
    for name in (*STRICT_FIELDS, *IDENTITY_FIELDS):
        values = getattr(first, name), getattr(second, name)
        if values[0] != values[1] and (name in STRICT_FIELDS or None not in values):
            yield ArmDifference(name, values)


def _unshown_facts(first: RunSignature, second: RunSignature) -> Iterator[ArmDifference]:
    """Yield what would have to be equal to show that the unknown facts are, and is not."""
    unknown = dict.fromkeys((*first.unknown, *second.unknown))
    if not unknown:
        return
    sides = first.run.served, second.run.served
    if not all(served.command for served in sides):  # attached or imported: nothing says how it was started
        yield ArmDifference(NOTHING_IMPLIES_IT, (sides[0].command, sides[1].command), next(iter(unknown)))
        return
    for fact in unknown:
        for name, values in _implying_facts(fact, *sides):
            if values[0] != values[1]:
                yield ArmDifference(name, values, fact)


def _implying_facts(fact: str, first: ServerSetup, second: ServerSetup) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the facts that imply an unknown one if they are equal in both runs, with their values."""
    yield "machine_id", (first.machine_id, second.machine_id)
    if fact == "model_files":
        yield "model", (first.model, second.model)
    elif fact == "engine_version":
        yield "command", (first.command[0], second.command[0])
    elif fact == "configuration":
        yield "command", (first.command, second.command)


def _differing_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[ArmDifference]:
    if first == second:
        return
    for name in sorted({*first, *second}):
        values = first.get(name), second.get(name)
        if values[0] != values[1]:
            yield ArmDifference(f"settings.{name}", values)


def _differing_log_numbers(first: ServerSetup, second: ServerSetup) -> Iterator[ArmDifference]:
    weights = first.weights_gib, second.weights_gib
    if _is_unlike(weights, WEIGHTS_TOLERANCE, WEIGHTS_ROUNDING_GIB):
        yield ArmDifference("weights_gib", weights)
    tokens = first.kv_cache_tokens, second.kv_cache_tokens
    if _is_unlike(tokens, KV_TOLERANCE):
        yield ArmDifference("kv_cache_tokens", tokens)


def _is_unlike(values: tuple[float | None, float | None], tolerance: float, rounding: float = 0.0) -> bool:
    """Whether two known numbers differ by more than a share of the larger one, and by more than their rounding."""
    first, second = values
    if first is None or second is None:
        return False
    return abs(first - second) > max(tolerance * max(first, second), rounding)


def unknown_of(served: ServerSetup) -> tuple[str, ...]:
    """Return the unknown facts of a server that its repeats on another machine would need to match."""
    missing = [name for name in IDENTITY_FIELDS if getattr(served, name) is None]
    if served.image:
        missing = [name for name in missing if name != "engine_version"]  # implied by the image's digest
    return (*missing, *(() if served.is_configuration_known else ("configuration",)))


def workload_of(run: RunFacts) -> list[str]:
    """Return the run's loads by their plans; loads without a recorded plan by name."""
    workloads = [
        [load.plan.workload, load.plan.prompt_set_hash, compared_params(load.plan)] if load.plan else [run.workload]
        for load in run.loads
    ]
    return sorted({json.dumps(workload, sort_keys=True) for workload in workloads} or {json.dumps([run.workload])})
