"""Sentences that say what makes two runs two arms."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.arm_differences import ArmDifference, differences_between, signature_of
from analysis.comparison.arms import Arm
from web.theme import three_digits

FACTS = {
    "workload": "workload",
    "engine": "engine",
    "image": "image",
    "engine_version": "engine version",
    "model": "model path",
    "model_files": "model files",
    "gpus": "GPUs",
    "machine_id": "machine",
    "command": "command",
    "weights_gib": "weight memory in the log, GiB",
    "kv_cache_tokens": "KV capacity in the log, tokens",
}
LONGEST_VALUE = 40


def split_notes(arms: Sequence[Arm]) -> list[str]:
    """Return for each arm but the first what splits it from the first."""
    return [text for arm in arms[1:] if (text := split_text(arms[0], arm))]


def split_text(first: Arm, second: Arm) -> str:
    """Return 'B is not a repeat of A: max_num_seqs (2, 4)'; '' if only a person separates them."""
    differences = list(differences_between(signature_of(first.runs[0]), signature_of(second.runs[0])))
    facts = "; ".join(dict.fromkeys(map(_fact_text, differences)))
    return f"{second.name} is not a repeat of {first.name}: {facts}." if facts else ""


def _fact_text(difference: ArmDifference) -> str:
    name = FACTS.get(difference.fact) or difference.fact.removeprefix("settings.")
    values = ", ".join(map(_value_text, difference.values))
    unshown = ""
    if difference.stands_for in FACTS:
        unshown = f", which would show that the {FACTS[difference.stands_for]} are the same"
    return f"{name} ({values}){unshown}" if difference.fact not in ("workload", "command") else f"{name}{unshown}"


def _value_text(value: object) -> str:
    if value is None:
        return "not stated"
    text = three_digits(value) if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}\u2026"
