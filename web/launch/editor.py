"""The two views of the configuration being edited: the command as text, and a form by topic."""

from __future__ import annotations

from typing import Any

import streamlit as st

from commands.explain import Explanation
from domain import OTHER_ENGINE
from web.launch import config_fields as fields
from web.launch import draft
from web.launch.config_fields import ConfigField
from web.launch.draft import LaunchDraft
from web.markup import markdown_text

PLACEHOLDER = """vllm serve Qwen/Qwen3-8B --port 8000 --kv-cache-dtype fp8

or podman run ..., python -m sglang.launch_server ..., llama-server ..."""
EMPTY_HEIGHT, READ_HEIGHT = 190, 110  # pixels of the command box
SWITCH = {None: "not stated", True: "on", False: "off"}


def show_command_box() -> None:
    """The command as text, which shrinks once it is read; none of it is evaluated."""
    edited_draft = draft.current()
    height = EMPTY_HEIGHT if edited_draft.config is None else READ_HEIGHT
    with st.container(horizontal=True, vertical_alignment="bottom", key="launch-command"):
        st.text_area("Command", height=height, placeholder=PLACEHOLDER, key=draft.TEXT_KEY, on_change=draft.read_text)
        st.button("Read it", key="read-command", on_click=draft.read_pending_text)
    if edited_draft.text.strip() and (edited_draft.config is None or edited_draft.config.engine == OTHER_ENGINE):
        label = "Run this command unchanged: Pitwall does not know this engine"
        st.checkbox(label, key=draft.AS_IS_KEY, on_change=draft.read_as_it_is)


def show_notes() -> None:
    """Notes on the pasted command (left out, repaired, unresolved) and errors of the last edit."""
    edited_draft = draft.current()
    if edited_draft.origin:
        st.caption(" ".join([f"From {markdown_text(edited_draft.origin)}.", markdown_text(edited_draft.about)]))
    explanation = edited_draft.explanation
    if explanation.refused and edited_draft.config is None:
        st.error(markdown_text(explanation.refused))
    elif explanation.refused:
        st.warning(markdown_text(explanation.refused))
    if edited_draft.problem:
        st.error(markdown_text(edited_draft.problem))
    for title, texts in _texts_by_kind(explanation).items():
        if texts:
            st.warning(f"**{title}:** " + "; ".join(markdown_text(text) for text in texts))


def _texts_by_kind(explanation: Explanation) -> dict[str, list[str]]:
    return {
        "Left out": explanation.left_out,
        "Repaired": explanation.repaired,
        "Unresolved": explanation.unresolved,
        "Warnings": explanation.warnings,
    }


def show_form() -> None:
    """The fields that the engine's command can express, by group."""
    edited_draft = draft.current()
    if edited_draft.config is None:
        st.caption("The command's settings appear here, field by field, before anything starts.")
        return
    for title, group_fields in fields.groups_of(edited_draft.config).items():
        stated_fields = [
            field for field in group_fields if fields.value_of(edited_draft.config, field) not in (None, "")
        ]
        is_required = any(field.path in edited_draft.required for field in group_fields)
        key = f"group-{edited_draft.generation}-{title}"
        with st.expander(title, expanded=bool(stated_fields or is_required), key=key):
            _group(edited_draft, group_fields)


def _group(edited_draft: LaunchDraft, group_fields: list[ConfigField]) -> None:
    columns = st.columns(1 if len(group_fields) == 1 else 2)
    for index, field in enumerate(group_fields):
        with columns[index % len(columns)]:
            _widget(edited_draft, field)
            if field.path in edited_draft.required:
                st.caption(f"Required: {markdown_text(edited_draft.required[field.path])}")


def _why_inferred(edited_draft: LaunchDraft, field: ConfigField) -> str | None:
    """Return the reasons for values that a preset infers; those of single flags are with the flags."""
    reasons = [edited_draft.inferred[field.path]] if field.path in edited_draft.inferred else []
    if field.path == "unknown_flags":
        reasons += [f"{flag}: {reason}" for flag, reason in edited_draft.inferred.items() if flag.startswith("--")]
    return " ".join(map(markdown_text, reasons)) or None


def _widget(edited_draft: LaunchDraft, field: ConfigField) -> None:
    """One input for the field; a change is applied before the page reruns."""
    assert edited_draft.config
    key = f"field-{edited_draft.generation}-{field.path}"
    reason = _why_inferred(edited_draft, field)
    label = fields.label_of(edited_draft.config, field) + (" (inferred)" if reason else "")
    value = fields.value_of(edited_draft.config, field)
    options: Any = {"key": key, "help": reason, "on_change": lambda: draft.edit_field(field, st.session_state[key])}
    if field.kind == "switch":
        st.selectbox(label, list(SWITCH), list(SWITCH).index(value), format_func=SWITCH.__getitem__, **options)  # type: ignore[arg-type]
    elif field.kind == "choice":
        choices = list(dict.fromkeys((*fields.LAUNCHERS, str(value))))
        st.selectbox(label, choices, choices.index(str(value)), **options)
    elif field.kind == "integer":
        st.number_input(label, value=value if isinstance(value, int) else None, step=1, min_value=0, **options)
    elif field.kind == "number":
        st.number_input(label, value=None if value is None else float(value), step=0.01, min_value=0.0, **options)
    elif field.kind in ("lines", "variables"):
        st.text_area(label, str(value), placeholder=field.placeholder, height=110, **options)
    else:
        st.text_input(label, str(value or ""), placeholder=field.placeholder, **options)
