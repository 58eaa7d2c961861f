"""What was served: a person compares configurations, so most of what differs here is what is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts, Served
from analysis.comparison.model_names import base_name, quantization_in
from analysis.guard.rows import Pair, Row, RowCode, Standing, differing, each

WEIGHTS = ("quantization", "dtype")
KV = ("kv_cache_dtype",)
SAMPLING = "sampling."


def model(pair: Pair) -> Row:
    """The same model, whatever its weights are stored in; the quantization has a row of its own."""
    first, second = each(pair, lambda run: run.served.model)
    values = {"models": (first[0], second[0])}
    if None in first or None in second:
        return Row(RowCode.MODEL, Standing.UNKNOWN, values)
    if {base_name(name) for name in first} != {base_name(name) for name in second}:
        return differing(RowCode.MODEL, pair, values)
    files = [set(one) for one in each(pair, lambda run: run.served.model_files)]
    same_weights = {quantization_in(name) for name in first} == {quantization_in(name) for name in second}
    if same_weights and None not in files[0] | files[1] and files[0] != files[1]:
        return differing(RowCode.MODEL, pair, values | {"files_differ": True})
    return Row(RowCode.MODEL, Standing.SAME, values)


def engine(pair: Pair) -> Row:
    """Engine and version, or image; what differs is what is compared, a version that nobody knows is UNKNOWN."""
    first, second = each(pair, lambda run: run.served.engine)
    versions = each(pair, lambda run: run.served.engine_version or run.served.image)
    values = {"engines": (first[0], second[0]), "versions": (versions[0][0], versions[1][0])}
    if first != second:
        return Row(RowCode.ENGINE, Standing.COMPARED, values)
    if None in versions[0] or None in versions[1]:
        return Row(RowCode.ENGINE, Standing.UNKNOWN, values)
    return Row(RowCode.ENGINE, Standing.SAME if versions[0] == versions[1] else Standing.COMPARED, values)


def quantization(pair: Pair) -> Row:
    """Quantization and dtype as they are set; where they are not, what the model's name says."""
    return _settings(RowCode.QUANTIZATION, pair, lambda served: _named(served, WEIGHTS) | _words(served))


def kv_dtype(pair: Pair) -> Row:
    """The number format of the KV cache, as it is set."""
    return _settings(RowCode.KV_DTYPE, pair, lambda served: _named(served, KV))


def settings(pair: Pair) -> Row:
    """Everything else that the configuration says: speculation, parallelism, limits, flags."""
    return _settings(RowCode.SETTINGS, pair, _others)


def sampling(pair: Pair) -> Row:
    """What the server's command says of sampling; what each request asks for is part of the workload."""
    row = _settings(RowCode.SAMPLING, pair, lambda served: _under(served, SAMPLING))
    return differing(RowCode.SAMPLING, pair, row.values) if row.standing is Standing.COMPARED else row


def hardware(pair: Pair) -> Row:
    """Machine and GPUs. On one machine more or fewer GPUs of one kind are a setting like any other."""
    machines = each(pair, lambda run: run.served.machine_id)
    gpus = each(pair, lambda run: run.served.gpus)
    values = {"machines": (machines[0], machines[1]), "gpus": (gpus[0][0], gpus[1][0])}
    is_one_machine = len({*machines[0], *machines[1]}) == 1
    if is_one_machine and None in (*gpus[0], *gpus[1]):
        return Row(RowCode.HARDWARE, Standing.UNKNOWN, values)
    if is_one_machine and gpu_kinds(pair.baseline) == gpu_kinds(pair.other):
        return Row(RowCode.HARDWARE, Standing.SAME if gpus[0] == gpus[1] else Standing.COMPARED, values)
    return differing(RowCode.HARDWARE, pair, values)


def gpu_kinds(arm: Arm) -> set[str]:
    """The names of the GPUs that the arm's runs were served on; empty where none is known."""
    return {name for run in arm.runs for name in run.served.gpus or ()}


def _settings(code: RowCode, pair: Pair, of: Any) -> Row:
    """COMPARED with the fields that differ; UNKNOWN where nobody knows the configuration of an arm."""
    first, second = (_shared(arm.runs, of) for arm in pair.arms)
    keys = sorted(key for key in {*first, *second} if first.get(key) != second.get(key))
    if keys:
        return Row(code, Standing.COMPARED, {"fields": {key: (first.get(key), second.get(key)) for key in keys}})
    if not all(run.served.is_configuration_known for run in pair.runs):
        return Row(code, Standing.UNKNOWN)
    return Row(code, Standing.SAME, {"fields": {}, "values": first})


def _shared(runs: tuple[RunFacts, ...], of: Any) -> Mapping[str, Any]:
    """The arm's value of each field: what most of its runs have, for an arm may be held together by its command."""
    of_runs = [of(run.served) for run in runs]
    keys = dict.fromkeys(key for one in of_runs for key in one)
    most = {key: Counter(str(one[key]) if key in one else None for one in of_runs).most_common(1)[0][0] for key in keys}
    return {key: value for key, value in most.items() if value is not None}


def _named(served: Served, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: served.settings[name] for name in names if name in served.settings}


def _words(served: Served) -> dict[str, Any]:
    """The quantization that the model's name states, where no setting does."""
    words = quantization_in(served.model or "")
    return {"weights": "-".join(words)} if words and "quantization" not in served.settings else {}


def _under(served: Served, prefix: str) -> dict[str, Any]:
    return {key: value for key, value in served.settings.items() if key.startswith(prefix)}


def _others(served: Served) -> dict[str, Any]:
    others = {k: v for k, v in served.settings.items() if k not in (*WEIGHTS, *KV) and not k.startswith(SAMPLING)}
    return others | ({"gpu_count": len(served.gpus)} if served.gpus else {})
