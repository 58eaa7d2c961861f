"""Which runs a page shows: the address bar is the view, and the picker writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from domain import Run
from web.actions import is_operator
from web.markup import markdown_text
from web.theme import DASH

STATE_WORDS = {"finished": "", "failed": " (failed)"}


@dataclass(frozen=True)
class Picked:
    """The runs the address names, in its order, and the ids in it that no run has."""

    runs: list[Run]
    unknown: list[str]


def label(run: Run) -> str:
    """A run as one line of a list: its name, how it stands, when it was."""
    word = STATE_WORDS.get(run.state, f" ({run.state})")
    return f"{run.name}{word} {DASH} {run.created_at:%d %b %H:%M:%S}"


def pick_runs(runs: Sequence[Run], default: Sequence[str], prompt: str, key: str, most: int = 8) -> Picked:
    """A picker over `runs`, in step with `?run=...&run=...`; without any in the address, `default` is shown."""
    by_id = {run.id: run for run in runs}
    named = list(dict.fromkeys(st.query_params.get_all("run")))
    unknown = [run_id for run_id in named if run_id not in by_id]
    if len(by_id) == 1 and not unknown and not is_operator():  # whoever may see one run has nothing to pick
        return Picked(list(runs), [])
    known = [run_id for run_id in named if run_id in by_id] or ([] if named else list(default))
    if st.session_state.get(f"{key}-address") != named:
        st.session_state[key] = known[:most]
    chosen = st.multiselect(
        prompt,
        list(by_id),
        format_func=lambda run_id: label(by_id[run_id]),
        key=key,
        max_selections=most,
        placeholder=prompt,
        label_visibility="collapsed",
    )
    if chosen != named and not unknown:
        st.query_params["run"] = chosen
    st.session_state[f"{key}-address"] = chosen if not unknown else named
    return Picked([by_id[run_id] for run_id in chosen], unknown)


def tell_unknown(picked: Picked) -> None:
    """Say which ids of the address no run has."""
    for run_id in picked.unknown:
        st.warning(
            f"No run has the id {markdown_text(run_id)}. It may belong to another Pitwall, or the link was cut short."
        )
