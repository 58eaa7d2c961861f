"""The section of Runs that lists the machines and lets the operator label them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from storage.queries.machine_queries import MachineRow
from storage.queries.run_data import Queryable
from web import audit, markup
from web.actions import is_operator, require_operator
from web.context import services
from web.machines.machine_titles import known_machines
from web.sections import PageSection
from web.theme import DASH
from web.words import reasons_text

LONGEST_LABEL = 60
GIB = 1 << 30
UNIFIED = "unified with the host's"


def machine_section(store: Queryable) -> PageSection | None:
    """Return the operator's section: a row per machine and a form for its label. `store`: this store or the lake."""
    return PageSection("machines", "Machines", lambda: _show_machines(known_machines(store))) if is_operator() else None


def _show_machines(machines: Sequence[MachineRow]) -> None:
    if not machines:
        st.caption("No machine has been seen yet.")
        return
    st.html(markup.table(["machine", "host", "GPUs", "driver", "CPU", "memory", "runs"], list(map(_row, machines))))
    _label_form(machines)


def _label_form(machines: Sequence[MachineRow]) -> None:
    titles = {row.machine_id: row.title() for row in machines}
    with st.form("machine-label", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        machine_id = st.selectbox(
            "Machine", list(titles), format_func=titles.__getitem__, key="label-machine", width=280
        )
        label = st.text_input("Label", max_chars=LONGEST_LABEL, placeholder="none", key="label-text", width=280)
        if st.form_submit_button("Set the label"):
            set_label(machine_id, label.strip() or None)
            st.rerun()


def set_label(machine_id: str, label: str | None) -> None:
    """Label a machine with an audit entry; only for the operator."""
    require_operator()
    services().store.label_machine(machine_id, label)
    audit.record("label machine", detail=f"{machine_id}: {label or 'no label'}")


def _row(row: MachineRow) -> list[str]:
    cpu = " · ".join(filter(None, [row.cpu, f"{row.cores} cores" if row.cores else None]))
    cells = [row.host_name, gpu_label(row), row.driver_version, cpu or None, _gib(row.memory_bytes), f"{row.runs:,}"]
    why = reasons_text(row.gpus_reason) or "not reported"
    return [
        f"{markup.text(row.title())} <code>{markup.text(row.machine_id)}</code>",
        *(markup.text(cell) if cell else markup.number(DASH, why=why) for cell in cells),
    ]


def gpu_label(row: MachineRow) -> str | None:
    """Return a label such as '2 × H200, 141 GiB'; None if no GPU is known."""
    kinds: dict[str, int] = {}
    for gpu in row.gpus:
        kinds[_gpu_kind(gpu)] = kinds.get(_gpu_kind(gpu), 0) + 1
    return "; ".join(f"{count} \u00d7 {kind}" for kind, count in kinds.items()) or None


def _gpu_kind(gpu: Mapping[str, Any]) -> str:
    memory = _gib(gpu["memory_total_bytes"]) or "memory not reported"
    kind = f", {UNIFIED}" if gpu["memory_kind"] == "unified" else ""
    return f"{gpu['name'] or 'unnamed GPU'}, {memory}{kind}"


def _gib(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else f"{size_bytes / GIB:,.0f} GiB"
