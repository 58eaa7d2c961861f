"""The two views of the configuration being edited: the command as text, and a form by theme."""

from __future__ import annotations

from typing import Any

import streamlit as st

from commands.explain import Explanation
from web.launch import config_fields as fields
from web.launch import draft
from web.launch.config_fields import Field
from web.launch.draft import Draft
from web.markup import markdown_text

PLACEHOLDER = """vllm serve Qwen/Qwen3-8B --port 8000 --kv-cache-dtype fp8

or podman run ..., python -m sglang.launch_server ..., llama-server ..."""
SWITCH = {None: "not stated", True: "on", False: "off"}


def command_box() -> None:
    """The command as text; nothing of it is evaluated."""
    st.text_area("Command", height=190, placeholder=PLACEHOLDER, key=draft.TEXT_KEY, on_change=draft.read_text)
    edited = draft.current()
    if edited.text.strip() and (edited.config is None or edited.config.engine == "other"):
        words = "Run these words as they are: Pitwall does not know this engine"
        st.checkbox(words, key=draft.AS_IS_KEY, on_change=draft.read_as_it_is)


def notes() -> None:
    """What was left out of the paste, repaired or is unresolved, and what an edit got wrong."""
    edited = draft.current()
    if edited.origin:
        st.caption(" ".join([f"From {markdown_text(edited.origin)}.", markdown_text(edited.about)]))
    explanation = edited.explanation
    if explanation.refused and edited.config is None:
        st.error(markdown_text(explanation.refused))
    elif explanation.refused:
        st.warning(markdown_text(explanation.refused))
    if edited.problem:
        st.error(markdown_text(edited.problem))
    for title, texts in _by_kind(explanation).items():
        if texts:
            st.warning(f"**{title}:** " + "; ".join(markdown_text(text) for text in texts))


def _by_kind(explanation: Explanation) -> dict[str, list[str]]:
    return {
        "Left out": explanation.left_out,
        "Repaired": explanation.repaired,
        "Unresolved": explanation.unresolved,
        "Mind": explanation.warnings,
    }


def form() -> None:
    """The fields that the engine's command can say, group by group."""
    edited = draft.current()
    if edited.config is None:
        st.caption("What the command says appears here, field by field, before anything starts.")
        return
    for title, offered in fields.groups_of(edited.config).items():
        stated = [field for field in offered if fields.value_of(edited.config, field) not in (None, "")]
        is_asked = any(field.path in edited.required for field in offered)
        key = f"group-{edited.generation}-{title}"
        with st.expander(title, expanded=bool(stated or is_asked), key=key):
            _group(edited, offered)


def _group(edited: Draft, offered: list[Field]) -> None:
    columns = st.columns(1 if len(offered) == 1 else 2)
    for place, field in enumerate(offered):
        with columns[place % len(columns)]:
            _widget(edited, field)
            if field.path in edited.required:
                st.caption(f"Required: {markdown_text(edited.required[field.path])}")


def _why_inferred(edited: Draft, field: Field) -> str | None:
    """The reasons why a preset holds what its source does not say; those of single flags beside the flags."""
    reasons = [edited.inferred[field.path]] if field.path in edited.inferred else []
    if field.path == "unknown_flags":
        reasons += [f"{flag}: {why}" for flag, why in edited.inferred.items() if flag.startswith("--")]
    return " ".join(map(markdown_text, reasons)) or None


def _widget(edited: Draft, field: Field) -> None:
    """One input with the field's value; a change of it is taken in before the page is drawn again."""
    assert edited.config
    key = f"field-{edited.generation}-{field.path}"
    why = _why_inferred(edited, field)
    label = fields.label_of(edited.config, field) + (" (inferred)" if why else "")
    value = fields.value_of(edited.config, field)
    shared: Any = {"key": key, "help": why, "on_change": lambda: draft.edit(field, st.session_state[key])}
    if field.kind == "switch":
        st.selectbox(label, list(SWITCH), list(SWITCH).index(value), format_func=SWITCH.__getitem__, **shared)  # type: ignore[arg-type]
    elif field.kind == "choice":
        choices = list(dict.fromkeys((*fields.LAUNCHERS, str(value))))
        st.selectbox(label, choices, choices.index(str(value)), **shared)
    elif field.kind == "integer":
        st.number_input(label, value=value if isinstance(value, int) else None, step=1, min_value=0, **shared)
    elif field.kind == "number":
        st.number_input(label, value=None if value is None else float(value), step=0.01, min_value=0.0, **shared)
    elif field.kind in ("lines", "variables"):
        st.text_area(label, str(value), placeholder=field.placeholder, height=110, **shared)
    else:
        st.text_input(label, str(value or ""), placeholder=field.placeholder, **shared)
