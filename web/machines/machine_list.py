"""The part of Runs that says which machines there are, and lets the operator name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from storage.ask.machine_queries import MachineRow
from storage.ask.queries import Asked
from web import audit, markup
from web.actions import is_operator, require_operator
from web.context import services
from web.kept import fold
from web.machines.machine_titles import known_machines
from web.theme import DASH
from web.words import reasons_in_words

LONGEST_LABEL = 60
GIB = 1 << 30
UNIFIED = "unified with the host's"


def machine_list(asked: Asked) -> None:
    """A closed section with a line a machine, and a field for its label; `asked`: this store, or the lake."""
    if not is_operator():
        return
    with fold("Machines", "machines", "runs"):
        known = known_machines(asked)
        if not known:
            st.caption("No machine has been seen yet.")
            return
        st.html(markup.table(["machine", "host", "GPUs", "driver", "CPU", "memory", "runs"], list(map(_row, known))))
        _label_form(known)


def _label_form(known: Sequence[MachineRow]) -> None:
    titles = {row.machine_id: row.title() for row in known}
    with st.form("machine-label", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        machine_id = st.selectbox(
            "Machine", list(titles), format_func=titles.__getitem__, key="label-machine", width=280
        )
        label = st.text_input("Label", max_chars=LONGEST_LABEL, placeholder="none", key="label-text", width=280)
        if st.form_submit_button("Set the label"):
            set_label(machine_id, label.strip() or None)
            st.rerun()


def set_label(machine_id: str, label: str | None) -> None:
    """Call a machine so and write it down; for the operator only."""
    require_operator()
    services().store.label_machine(machine_id, label)
    audit.record("label machine", detail=f"{machine_id}: {label or 'no label'}")


def _row(row: MachineRow) -> list[str]:
    cpu = " · ".join(filter(None, [row.cpu, f"{row.cores} cores" if row.cores else None]))
    cells = [row.host_name, gpu_words(row), row.driver_version, cpu or None, _gib(row.memory_bytes), f"{row.runs:,}"]
    why = reasons_in_words(row.gpus_reason) or "not reported"
    return [
        f"{markup.text(row.title())} <code>{markup.text(row.machine_id)}</code>",
        *(markup.text(cell) if cell else markup.number(DASH, why=why) for cell in cells),
    ]


def gpu_words(row: MachineRow) -> str | None:
    """'2 x H200, 141 GiB each'; None where no GPU is known."""
    kinds: dict[str, int] = {}
    for gpu in row.gpus:
        kinds[_gpu(gpu)] = kinds.get(_gpu(gpu), 0) + 1
    return "; ".join(f"{count} \u00d7 {kind}" for kind, count in kinds.items()) or None


def _gpu(gpu: Mapping[str, Any]) -> str:
    memory = _gib(gpu["memory_total_bytes"]) or "memory not reported"
    kind = f", {UNIFIED}" if gpu["memory_kind"] == "unified" else ""
    return f"{gpu['name'] or 'GPU without a name'}, {memory}{kind}"


def _gib(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else f"{size_bytes / GIB:,.0f} GiB"
