"""The mark of runs whose answers loop, beside every speed: repeated text is fast, but useless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.arms import Arm
from analysis.runs.collapse import is_collapse
from web import markup

SIGN = "\u27f2"  # a gapped circle arrow
MEANING = "Answers end in a loop: the speed includes repeated text"


def loop_text(looping_ratio: float | None) -> str:
    """Return '⟲ 20 % of answers loop' for a run that collapses, else ''."""
    if looping_ratio is None or not is_collapse(looping_ratio):
        return ""
    return f"{SIGN} {100.0 * looping_ratio:.0f} % of answers loop"


def loop_mark(looping_ratio: float | None) -> str:
    """Return the same as markup, which explains itself on hover."""
    text = loop_text(looping_ratio)
    return f'<span class="pw-loops">{markup.hint(text, MEANING)}</span>' if text else ""


def loop_notes(arms: Sequence[Arm], collapsed: Mapping[str, float]) -> list[str]:
    """Return a sentence for the arms whose answers loop equally often. collapsed: see `collapsed_arms`."""
    names_by_percent: dict[str, list[str]] = {}
    for arm in arms:
        if arm.id in collapsed:
            names_by_percent.setdefault(f"{100.0 * collapsed[arm.id]:.0f}", []).append(arm.name)
    return [
        f"{names[0]}: {percent} % of its answers end in a loop; its speed includes that text."
        if len(names) == 1
        else f"{', '.join(names)}: {percent} % of the answers of each end in a loop; their speeds include that text."
        for percent, names in names_by_percent.items()
    ]
