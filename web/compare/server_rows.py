"""Server-side latencies on Compare: one row per metric and definition, since different definitions do not compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import streamlit as st

from analysis.comparison.arms import Arm
from storage.queries.run_data import Queryable, server_latency
from web import markup
from web.compare.answer.overview import Colors
from web.compare.server_latency import METRICS, bounds_text
from web.theme import DASH, three_digits
from web.url_state import url_expander

Latency = Mapping[str, Any]
PLACES = ("p50", "p95", "p99")
NOTE = (
    "From each server's own histograms, over all its requests from any client, including warm-up. These are not the "
    "times that Pitwall's client measured, and nothing is ranked by them. A percentile lies between its two bounds; "
    "for repeats, between the lowest and the highest."
)


def server_latencies(store: Queryable, arms: Sequence[Arm], colors: Colors) -> None:
    """Show the table; nothing if no server has histograms or served a request."""
    latencies = server_latency(store, [run.run_id for arm in arms for run in arm.runs])
    rows = latency_rows(arms, latencies)
    if not rows:
        return
    with url_expander("Latency as counted by the servers", "servers", "compare"):
        head = ["As the server counts it", *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
        st.html(markup.table(head, rows, is_numeric=True))
        st.caption(NOTE)


def latency_rows(arms: Sequence[Arm], latencies: Mapping[str, Sequence[Latency]]) -> list[list[str]]:
    """Return rows for each metric and definition: the mean and each percentile's bounds, one cell per arm."""
    definitions = sorted({row["definition"] for rows in latencies.values() for row in rows})
    table_rows: list[list[str]] = []
    for metric, definition in product(METRICS, definitions):
        rows_by_arm = [_arm_rows(arm, latencies, metric, definition) for arm in arms]
        if not any(rows_by_arm):
            continue
        title, meaning = METRICS[metric]
        table_rows.append([_title(f"{title}, mean, ms", meaning, definition), *map(_mean, rows_by_arm)])
        for percentile in PLACES:
            table_rows.append(
                [
                    _title(f"{title}, {percentile}, ms", meaning, definition),
                    *(_bounds(arm_rows, percentile) for arm_rows in rows_by_arm),
                ]
            )
    return table_rows


def _title(metric_title: str, meaning: str, definition: str) -> str:
    return f'{markup.hint(metric_title, meaning)} <span class="pw-muted">{markup.text(definition)}</span>'


def _arm_rows(arm: Arm, latencies: Mapping[str, Sequence[Latency]], metric: str, definition: str) -> list[Latency]:
    rows = (row for run in arm.runs for row in latencies.get(run.run_id, ()))
    return [row for row in rows if (row["metric"], row["definition"]) == (metric, definition)]


def _mean(rows: Sequence[Latency]) -> str:
    """The mean over all observations of an arm's runs; a dash if a server exports no sum."""
    if not rows or any(row["mean_ms"] is None for row in rows):
        return DASH
    count = sum(row["n"] for row in rows)
    return three_digits(sum(row["mean_ms"] * row["n"] for row in rows) / count)


def _bounds(rows: Sequence[Latency], percentile: str) -> str:
    """The percentile of all observations lies between the lowest and highest bounds of the arm's runs."""
    if not rows:
        return DASH
    uppers = [row[f"{percentile}_to_ms"] for row in rows]
    return bounds_text(min(row[f"{percentile}_from_ms"] for row in rows), None if None in uppers else max(uppers))
