"""The part of the Run page about a run's other machines: GPUs, host, and clock offset from Pitwall's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from domain import Run
from storage.queries.node_queries import NodeRow, nodes
from web import markup
from web.fleet import store_for_runs
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.theme import DASH, byte_size

HEAD = ["GPU", "power, W", "SM clock, MHz", "utilization", "memory, highest", "temperature, highest"]
NOT_REPORTED = "its driver does not report it"


def node_panel(run: Run) -> None:
    """Show one table per machine other than the server's; nothing if the run is on one machine."""
    store = store_for_runs([run])
    node_rows = nodes(store, [run.id])
    if not node_rows:
        return
    titles = machine_titles(store)
    st.subheader("Other machines")
    for row in node_rows:
        st.markdown(f"**{markdown_text(titles.get(row.machine_id, row.machine_id))}**: {_host(row)}")
        if row.gpus:
            st.html(markup.table(HEAD, map(_gpu, row.gpus), is_numeric=True))
        st.caption(_clock(row))


def _host(row: NodeRow) -> str:
    parts = [f"CPU {row.cpu_cores:.1f} of {row.cores} cores" if row.cpu_cores is not None else "CPU not known"]
    if row.memory_used_bytes is not None and row.memory_total_bytes is not None:
        parts.append(f"memory {byte_size(row.memory_used_bytes)} of {byte_size(row.memory_total_bytes)}")
    if row.tree_cpu_cores is not None and row.tree_rss_bytes is not None:
        parts.append(f"the run's processes {row.tree_cpu_cores:.1f} cores, {byte_size(row.tree_rss_bytes)}")
    return markdown_text("; ".join(parts) + ("" if row.gpus else "; no GPU found"))


def _gpu(gpu: Mapping[str, Any]) -> list[str]:
    memory = gpu["memory_used_bytes"]
    share = gpu["utilization_ratio"]
    cells = [
        _number(gpu["power_w"], "{:.0f}"),
        _number(gpu["sm_clock_mhz"], "{:,.0f}"),
        _number(None if share is None else share * 100, "{:.0f} %"),
        markup.number(DASH if memory is None else byte_size(memory), why=NOT_REPORTED),
        _number(gpu["temperature_c"], "{:.0f} °C"),
    ]
    return [markup.text(f"{gpu['gpu_index']} {gpu['gpu_name'] or ''}".strip()), *cells]


def _number(value: float | None, pattern: str) -> str:
    return markup.number(DASH if value is None else pattern.format(value), why=NOT_REPORTED)


def _clock(row: NodeRow) -> str:
    if row.clock_offset_s is None:
        return "No host sample has arrived, so its clock offset is not known."
    precision = f"to ±{row.clock_uncertainty_s * 1000:.1f} ms" if row.clock_uncertainty_s is not None else "roughly"
    direction = "behind" if row.clock_offset_s >= 0 else "ahead of"
    return (
        f"Medians of {row.looks:,} readings by an agent there. Its clock was {abs(row.clock_offset_s):.3f} s "
        f"{direction} Pitwall's, known {precision}; times are converted to Pitwall's clock."
    )
