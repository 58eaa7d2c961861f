"""What differs in the configurations of arms, in effect: as their logs say it, and as asked where those say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.config_diff import compare_settings
from analysis.comparison.facts import Served
from web import markup
from web.compare.answer.answer_cards import Colors

NAMED = ("engine", "engine_version", "image", "model")


def config_table(arms: Sequence[Arm], colors: Colors) -> str:
    """The settings that are not equal in all arms, one row each; below them the arms whose configuration is unknown."""
    settings = [_settings(arm.runs[0].served) for arm in arms]
    found = compare_settings(
        settings, [n for n, arm in enumerate(arms) if not arm.runs[0].served.is_configuration_known]
    )
    if found.is_same:
        are_logs = any(run.kind == "imported" for arm in arms for run in arm.runs)
        words = "Nothing that their logs show." if are_logs else "Nothing: these arms have the same configuration."
        return f'<p class="pw-muted">{words}</p>'
    names = " and ".join(arms[place].name for place in found.unknown)
    note = f'<p class="pw-muted">Not known: the configuration of {markup.text(names)}.</p>' if names else ""
    body = [
        [markup.field(key), *(markup.setting(key, value) for value in values)] for key, values in found.rows.items()
    ]
    head = ["", *(markup.named(arm.name, colors[arm.id]) for arm in arms)]
    return (markup.table(head, body, wraps=True) if body else "") + note


def _settings(served: Served) -> dict[str, Any]:
    named = {name: getattr(served, name) for name in NAMED if getattr(served, name) is not None}
    return {**named, **({"gpus": ", ".join(served.gpus)} if served.gpus else {}), **served.settings}
