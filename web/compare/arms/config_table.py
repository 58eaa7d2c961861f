"""The table of effective configuration differences between arms: from their logs, else from their commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.comparison.arms import Arm
from analysis.comparison.config_diff import compare_settings
from analysis.comparison.facts import ServerSetup
from web import markup
from web.compare.answer.overview import Colors

SERVED_FIELDS = ("engine", "engine_version", "image", "model")


def config_table(arms: Sequence[Arm], colors: Colors) -> str:
    """Return the settings that differ between arms, one row each, and the arms whose configuration is unknown."""
    settings = [_settings(arm.runs[0].served) for arm in arms]
    diff = compare_settings(
        settings, [n for n, arm in enumerate(arms) if not arm.runs[0].served.is_configuration_known]
    )
    if diff.is_same:
        are_logs = any(run.kind == "imported" for arm in arms for run in arm.runs)
        message = "Their logs show no difference." if are_logs else "None: these arms have the same configuration."
        return f'<p class="pw-muted">{message}</p>'
    names = " and ".join(arms[index].name for index in diff.unknown)
    note = f'<p class="pw-muted">Not known: the configuration of {markup.text(names)}.</p>' if names else ""
    body = [[markup.field(key), *(markup.setting(key, value) for value in values)] for key, values in diff.rows.items()]
    head = ["", *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
    return (markup.table(head, body, wraps=True) if body else "") + note


def _settings(served: ServerSetup) -> dict[str, Any]:
    identity = {name: getattr(served, name) for name in SERVED_FIELDS if getattr(served, name) is not None}
    return {**identity, **({"gpus": ", ".join(served.gpus)} if served.gpus else {}), **served.settings}
