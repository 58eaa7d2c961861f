"""The parts of the Run page about the run's environment and how to reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.comparison.config_diff import flatten
from commands.gpus import CONTAINER_LAUNCHERS
from commands.presets import preset_of, preset_text
from commands.write import shell_text
from domain import JsonValue, Run
from web import markup
from web.actions import is_operator
from web.markup import markdown_text
from web.url_state import url_expander

HIDDEN_FIELDS = ("words", "package_reason", "model_reason", "gpus_reason", "gpus")

OPERATOR_FIELDS = ("cwd", "environment", "on_host", "reached")


def provenance(run: Run) -> None:
    """Show the provenance recorded at the run's start, with reasons for what is unknown."""
    if run.kind != "launched":
        return
    with url_expander("Environment", "environment", "run"):
        if run.provenance is None:
            st.caption("Not recorded: the run ended before its server was started.")
        else:
            st.html(markup.table(["", "at its start"], _rows(run.provenance), wraps=True))


def _rows(frozen: Mapping[str, JsonValue]) -> list[Sequence[str]]:
    fields = {name: value for name, value in frozen.items() if name not in HIDDEN_FIELDS}
    if not is_operator():  # guests see the machine, but no paths or host names
        fields = {name: value for name, value in fields.items() if name not in OPERATOR_FIELDS}
        fields["host"] = {name: value for name, value in (fields.get("host") or {}).items() if name != "name"}
    if isinstance(fields.get("model"), Mapping):  # the layer shapes are for Physics, not for people
        fields["model"] = {name: value for name, value in fields["model"].items() if name != "shape"}
    for number, gpu in enumerate(frozen.get("gpus") or []):
        fields[f"gpu {number}"] = {name: value for name, value in gpu.items() if name != "unknown"}
    rows: list[Sequence[str]] = [[markup.text(k), markup.setting(k, v)] for k, v in flatten(fields).items()]
    for name in ("package", "model", "gpus"):
        if reason := frozen.get(f"{name}_reason"):
            rows.append([markup.text(name), f'<span class="pw-muted">not known: {markup.text(reason)}</span>'])
    return rows


def reproduce(run: Run) -> None:
    """Show the operator the command and the preset that start the same run again; secrets stay references."""
    if not run.config.argv or not is_operator():
        return
    with url_expander("Reproduce", "reproduce", "run"):
        env = {} if run.config.launcher in CONTAINER_LAUNCHERS else run.config.env
        folder = (run.provenance or {}).get("cwd")
        st.caption("The command" + (f", in {markdown_text(folder)}" if folder else ""))
        st.code(shell_text(run.config.argv, env), language="bash", wrap_lines=True)
        st.caption("The same as a preset, a file in `presets/` in the data folder")
        st.code(preset_text(preset_of(run.name, run.config)), language="toml", wrap_lines=True)
