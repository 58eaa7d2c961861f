"""The part of the Run page that says what the run ran on, and how to have it again."""

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
from web.kept import fold
from web.markup import markdown_text

UNTOLD = ("words", "package_reason", "model_reason", "gpus_reason", "gpus")

OF_THE_OPERATOR = ("cwd", "environment", "on_host", "reached")


def provenance(run: Run) -> None:
    """What was frozen at its start; what could not be known with its reason."""
    if run.kind != "launched":
        return
    st.subheader("What it ran on")
    if run.provenance is None:
        st.caption("Nothing was noted: the run ended before its server was started, or an older Pitwall launched it.")
        return
    st.html(markup.table(["", "at its start"], _rows(run.provenance), wraps=True))


def _rows(frozen: Mapping[str, JsonValue]) -> list[Sequence[str]]:
    shown = {name: value for name, value in frozen.items() if name not in UNTOLD}
    if not is_operator():  # a shared link shows the machine, not where things are on it
        shown = {name: value for name, value in shown.items() if name not in OF_THE_OPERATOR}
        shown["host"] = {name: value for name, value in (shown.get("host") or {}).items() if name != "name"}
    if isinstance(shown.get("model"), Mapping):  # what its layers are like is read by Physics, not by people
        shown["model"] = {name: value for name, value in shown["model"].items() if name != "shape"}
    for number, gpu in enumerate(frozen.get("gpus") or []):
        shown[f"gpu {number}"] = {name: value for name, value in gpu.items() if name != "unknown"}
    rows: list[Sequence[str]] = [[markup.text(k), markup.setting(k, v)] for k, v in flatten(shown).items()]
    for name in ("package", "model", "gpus"):
        if reason := frozen.get(f"{name}_reason"):
            rows.append([markup.text(name), f'<span class="pw-muted">not known: {markup.text(reason)}</span>'])
    return rows


def reproduce(run: Run) -> None:
    """The command and the preset that start the same again, for who may; secrets stay references."""
    if not run.config.argv or not is_operator():
        return
    with fold("Reproduce", "reproduce", "run"):
        env = {} if run.config.launcher in CONTAINER_LAUNCHERS else run.config.env
        where = (run.provenance or {}).get("cwd")
        st.caption("The command" + (f", in {markdown_text(where)}" if where else ""))
        st.code(shell_text(run.config.argv, env), language="bash", wrap_lines=True)
        st.caption("The same as a preset: a file in the data folder's presets/")
        st.code(preset_text(preset_of(run.name, run.config)), language="toml", wrap_lines=True)
