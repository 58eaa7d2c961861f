"""Guard rows about the configuration: most differences here are the very thing that is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.comparison.model_names import base_name, quantization_in
from analysis.guard.rows import (
    ArmPair,
    GuardRow,
    RowCode,
    RowStatus,
    compared_requests,
    differing_row,
    distinct_values,
)

WEIGHTS = ("quantization", "dtype")
KV = ("kv_cache_dtype",)
SAMPLING = "sampling."
ONLY_WHEN_SAMPLING = ("top_k", "top_p", "min_p", "typical_p", "top-k", "top-p", "min-p", "typical")


def model(pair: ArmPair) -> GuardRow:
    """Require the same model, whatever format its weights have; the quantization has its own row."""
    first, second = distinct_values(pair, lambda run: run.served.model)
    values = {"models": (first[0], second[0])}
    if None in first or None in second:
        return GuardRow(RowCode.MODEL, RowStatus.UNKNOWN, values)
    if {base_name(name) for name in first} != {base_name(name) for name in second}:
        return differing_row(RowCode.MODEL, pair, values)
    files = [set(file_hashes) for file_hashes in distinct_values(pair, lambda run: run.served.model_files)]
    same_weights = {quantization_in(name) for name in first} == {quantization_in(name) for name in second}
    if same_weights and None not in files[0] | files[1] and files[0] != files[1]:
        return differing_row(RowCode.MODEL, pair, values | {"files_differ": True})
    return GuardRow(RowCode.MODEL, RowStatus.SAME, values)


def engine(pair: ArmPair) -> GuardRow:
    """Compare engine and version, or image; a difference is COMPARED, an unknown engine or version UNKNOWN."""
    first, second = distinct_values(pair, lambda run: run.served.engine)
    versions = distinct_values(pair, lambda run: run.served.engine_version or run.served.image)
    values = {"engines": (first[0], second[0]), "versions": (versions[0][0], versions[1][0])}
    if None in (*first, *second):
        return GuardRow(RowCode.ENGINE, RowStatus.UNKNOWN, values)
    if first != second:
        return GuardRow(RowCode.ENGINE, RowStatus.COMPARED, values)
    if None in versions[0] or None in versions[1]:
        return GuardRow(RowCode.ENGINE, RowStatus.UNKNOWN, values)
    return GuardRow(RowCode.ENGINE, RowStatus.SAME if versions[0] == versions[1] else RowStatus.COMPARED, values)


def quantization(pair: ArmPair) -> GuardRow:
    """Compare quantization and dtype as set, or by the model's name if not set."""
    return _compare_settings(
        RowCode.QUANTIZATION, pair, lambda served: _selected_settings(served, WEIGHTS) | _quantization_in_name(served)
    )


def kv_dtype(pair: ArmPair) -> GuardRow:
    """Compare the number format of the KV cache, as set."""
    return _compare_settings(RowCode.KV_DTYPE, pair, lambda served: _selected_settings(served, KV))


def settings(pair: ArmPair) -> GuardRow:
    """Compare all other settings: speculation, parallelism, limits, flags."""
    return _compare_settings(RowCode.SETTINGS, pair, _other_settings)


def sampling(pair: ArmPair) -> GuardRow:
    """Compare the server's sampling defaults, by flags or the model's files; those that requests override don't count.

    Sampling in requests is part of the workload.
    """
    overridden = {f"{SAMPLING}{name}" for name in _overridden(pair)}
    row = _compare_settings(
        RowCode.SAMPLING,
        pair,
        lambda served: {k: v for k, v in _settings_below(served, SAMPLING).items() if k not in overridden},
    )
    return differing_row(RowCode.SAMPLING, pair, row.values) if row.status is RowStatus.COMPARED else row


def _overridden(pair: ArmPair) -> set[str]:
    """Return the parameters that every compared request states, and those without effect on greedy decoding."""
    requests = [request for arm in pair.arms for request in compared_requests(pair, arm)]
    if not requests:
        return set()
    stated_fields = set.intersection(*(set(request.sampling) for request in requests))
    is_greedy = all(request.sampling.get("temperature") == 0 for request in requests)
    return stated_fields | (set(ONLY_WHEN_SAMPLING) if is_greedy else set())


def hardware(pair: ArmPair) -> GuardRow:
    """Compare machine and GPUs. On one machine, the number of GPUs of one kind is a setting like any other."""
    machines = distinct_values(pair, lambda run: run.served.machine_id)
    gpus = distinct_values(pair, lambda run: run.served.gpus)
    values = {"machines": (machines[0], machines[1]), "gpus": (gpus[0][0], gpus[1][0])}
    is_one_machine = len({*machines[0], *machines[1]}) == 1
    if is_one_machine and None in (*gpus[0], *gpus[1]):
        return GuardRow(RowCode.HARDWARE, RowStatus.UNKNOWN, values)
    if is_one_machine and gpu_kinds(pair.baseline) == gpu_kinds(pair.contender):
        return GuardRow(RowCode.HARDWARE, RowStatus.SAME if gpus[0] == gpus[1] else RowStatus.COMPARED, values)
    return differing_row(RowCode.HARDWARE, pair, values)


def gpu_kinds(arm: Arm) -> set[str]:
    """Return the names of the GPUs that served the arm's runs; empty if unknown."""
    return {name for run in arm.runs for name in run.served.gpus or ()}


def _compare_settings(code: RowCode, pair: ArmPair, settings_of: Any) -> GuardRow:
    """Return COMPARED with the differing fields, or UNKNOWN if the configuration of an arm is unknown."""
    first, second = (_common_settings(arm.runs, settings_of) for arm in pair.arms)
    keys = sorted(key for key in {*first, *second} if first.get(key) != second.get(key))
    if keys:
        return GuardRow(code, RowStatus.COMPARED, {"fields": {key: (first.get(key), second.get(key)) for key in keys}})
    if not all(run.served.is_configuration_known for run in pair.runs):
        return GuardRow(code, RowStatus.UNKNOWN)
    return GuardRow(code, RowStatus.SAME, {"fields": {}, "values": first})


def _common_settings(runs: tuple[RunFacts, ...], settings_of: Any) -> Mapping[str, Any]:
    """Return the arm's most common value of each field, since an arm may be grouped by its command only."""
    settings_by_run = [settings_of(run.served) for run in runs]
    keys = dict.fromkeys(key for run_settings in settings_by_run for key in run_settings)
    most_common = {
        key: Counter(
            str(run_settings[key]) if key in run_settings else None for run_settings in settings_by_run
        ).most_common(1)[0][0]
        for key in keys
    }
    return {key: value for key, value in most_common.items() if value is not None}


def _selected_settings(served: ServerSetup, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: served.settings[name] for name in names if name in served.settings}


def _quantization_in_name(served: ServerSetup) -> dict[str, Any]:
    """Return the quantization in the model's name, if no setting states it."""
    names = quantization_in(served.model or "")
    return {"weights": "-".join(names)} if names and "quantization" not in served.settings else {}


def _settings_below(served: ServerSetup, prefix: str) -> dict[str, Any]:
    return {key: value for key, value in served.settings.items() if key.startswith(prefix)}


def _other_settings(served: ServerSetup) -> dict[str, Any]:
    remaining = {k: v for k, v in served.settings.items() if k not in (*WEIGHTS, *KV) and not k.startswith(SAMPLING)}
    return remaining | ({"gpu_count": len(served.gpus)} if served.gpus else {})
