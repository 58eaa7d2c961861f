"""The table of latencies from the server's own histograms, over every request from any client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from domain import Run
from storage.queries.run_data import Queryable, server_latency
from web import markup
from web.theme import DASH, three_digits

METRICS = {
    "ttft_ms": ("Time to first token", "From the request's arrival at the server to its first token."),
    "itl_ms": ("Inter-token latency", "From one step of a request to the next, however many tokens a step yields."),
    "tpot_ms": ("Time per output token", "A request's time after its first token, divided by the tokens after it."),
    "e2e_ms": ("End-to-end latency", "From the request's arrival to its last token."),
}
HEAD = ["As the server counts it", "Observations", "Mean, ms", "p50, ms", "p95, ms", "p99, ms"]
NOTE = (
    "Covers all requests since Pitwall's first reading, from any client, including warm-up. The server counts in "
    "buckets, so a percentile lies between the two bounds."
)


def server_latency_table(store: Queryable, run: Run) -> None:
    """Show the table; nothing if the server has no histograms or has served no request."""
    by_metric = {row["metric"]: row for row in server_latency(store, [run.id])[run.id]}
    if not by_metric:
        return
    st.html(
        markup.table(
            HEAD, [_row(by_metric[metric], metric) for metric in METRICS if metric in by_metric], is_numeric=True
        )
    )
    st.caption(NOTE)


def _row(row: Mapping[str, Any], metric: str) -> list[str]:
    title, meaning = METRICS[metric]
    percentiles = [
        bounds_text(row[f"{percentile}_from_ms"], row[f"{percentile}_to_ms"]) for percentile in ("p50", "p95", "p99")
    ]
    return [markup.hint(title, meaning), f"{row['n']:,}", three_digits(row["mean_ms"]), *percentiles]


def bounds_text(low_ms: float, high_ms: float | None) -> str:
    """'up to 10', '10 – 20' or 'above 40'."""
    if high_ms is None and not low_ms:
        return DASH  # a histogram of one bucket
    if high_ms is None:
        return f"above {three_digits(low_ms)}"
    return f"{three_digits(low_ms)} {DASH} {three_digits(high_ms)}" if low_ms else f"up to {three_digits(high_ms)}"
