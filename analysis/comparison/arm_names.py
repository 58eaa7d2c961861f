"""Names of arms: those of their runs; where two arms share one, extended by what differs, the weights first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from analysis.comparison.arm_differences import differences_between, signature_of
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.comparison.model_names import weights_name
from analysis.comparison.setting_words import setting_text
from engines import UNKNOWN_ENGINE

REPEAT_NUMBER = re.compile(r" #\d+$")
COPY_NUMBER = re.compile(r" \(\d+\)$")  # given to a run whose name was taken
MOST_PARTS = 3
IMAGE_DIGEST = re.compile(r"@sha256:([0-9a-f]{1,8})[0-9a-f]*$")
LONGEST_VALUE = 40  # characters


def name_arms(first_runs: Sequence[RunFacts]) -> list[str]:
    """Return one name per arm, from its first run; no two are equal.

    An arm that shares its name, apart from a number, gets the values of what differs: 'vLLM, test · Qwen3-8B-FP8'. Of
    arms with unlike weights every name says its own.
    """
    names = [REPEAT_NUMBER.sub("", run.name) for run in first_runs]
    bases = [_base_name(run.name) for run in first_runs]
    shared = {base for base, count in Counter(bases).items() if count > 1}
    weights = [weights_label(run.served) for run in first_runs]
    has_unlike_weights = len(set(weights)) > 1
    for base in shared:
        members = [index for index, arm_base in enumerate(bases) if arm_base == base]
        parts = _differing_parts([first_runs[index] for index in members])
        for index, arm_parts in zip(members, parts, strict=True):
            names[index] = " · ".join([base, *arm_parts])
    if has_unlike_weights:
        names = [_with_weights(name, label) for name, label in zip(names, weights, strict=True)]
    return _distinct(names, first_runs)


def weights_label(served: ServerSetup) -> str | None:
    """Return the name of the weights that a server loads: 'Qwen3-8B-FP8'; None: unknown."""
    return weights_name(served.model) if served.model else None


def _with_weights(name: str, label: str | None) -> str:
    return name if label is None or label.lower() in name.lower() else f"{name} · {label}"


def _differing_parts(runs: Sequence[RunFacts]) -> list[list[str]]:
    """Return for each run the values of the facts in which some two of them differ, at most three."""
    signatures = [signature_of(run) for run in runs]
    facts = dict.fromkeys(
        difference.fact for pair in combinations(signatures, 2) for difference in differences_between(*pair)
    )
    texts = [[_value_text(run, fact) for run in runs] for fact in _weights_first(facts, runs)]
    telling = [values for values in texts if len(set(values)) > 1][:MOST_PARTS]
    return [[text for text in values if text] for values in zip(*telling, strict=True)] or [[] for _ in runs]


def _weights_first(facts: Mapping[str, None], runs: Sequence[RunFacts]) -> list[str]:
    """Return the facts in the order of their names; a hash of the files tells only if nothing else of them does."""
    weights = ["model"] if len({run.served.model for run in runs}) > 1 else []
    weights += [fact for fact in facts if fact == "weights_gib"]
    other_facts = [fact for fact in facts if not (weights and fact == "model_files")]
    return list(dict.fromkeys([*weights, *other_facts]))


def _value_text(run: RunFacts, fact: str) -> str:
    """Return a fact of a run in a few words; empty if it has no short form."""
    served = run.served
    if fact.startswith("settings."):
        name = fact.removeprefix("settings.")
        return _short(setting_text(name, served.settings.get(name)))
    if fact == "workload":
        return str(run.workload or "")
    return FACT_TEXTS[fact](served) if fact in FACT_TEXTS else ""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}\u2026"


def _image_text(served: ServerSetup) -> str:
    if not served.image:
        return "no container"
    return _short(IMAGE_DIGEST.sub(r"@\1", served.image).rpartition("/")[2])


FACT_TEXTS: Mapping[str, Callable[[ServerSetup], str]] = {
    "model": lambda served: weights_name(served.model) if served.model else "",
    "model_files": lambda served: f"files {served.model_files[:6]}" if served.model_files else "files not known",
    "weights_gib": lambda served: f"{served.weights_gib:g} GiB" if served.weights_gib is not None else "",
    "kv_cache_tokens": lambda served: f"{served.kv_cache_tokens:,} KV tokens" if served.kv_cache_tokens else "",
    "engine": lambda served: served.engine or UNKNOWN_ENGINE,
    "engine_version": lambda served: str(served.engine_version or "version not known"),
    "image": _image_text,
    "gpus": lambda served: f"{len(served.gpus)} x {served.gpus[0]}" if served.gpus else "no GPU",
    "machine_id": lambda served: str(served.machine_id),
}


def _distinct(names: Sequence[str], runs: Sequence[RunFacts]) -> list[str]:
    """Return the names; equal ones get the number of their run's name, and its id where that is equal too."""
    counts = Counter(names)
    full_names = [
        f"{name}{run.name.removeprefix(_base_name(run.name))}" if counts[name] > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    full_counts = Counter(full_names)
    return [
        f"{name} · {run.run_id}" if full_counts[name] > 1 else name for name, run in zip(full_names, runs, strict=True)
    ]


def _base_name(run_name: str) -> str:
    """Return the name of a run without the numbers of a repeat and of a copy: 'test (2) #1' is a 'test'."""
    return COPY_NUMBER.sub("", REPEAT_NUMBER.sub("", run_name))
