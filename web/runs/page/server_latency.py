"""Latency as the server itself counts it: of every request, whoever sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from domain import Run
from storage.ask.queries import Asked, server_latency
from web import markup
from web.theme import DASH, three_digits

METRICS = {
    "ttft_ms": ("Time to first token", "From the request's arrival at the server to its first token."),
    "itl_ms": ("Inter-token latency", "From one step of a request to its next, however many tokens the step gave."),
    "tpot_ms": ("Time per output token", "Of a request: its time after the first token over the tokens after it."),
    "e2e_ms": ("End-to-end latency", "From the request's arrival to its last token."),
}
HEAD = ["As the server counts it", "Observations", "Mean, ms", "p50, ms", "p95, ms", "p99, ms"]
NOTE = (
    "Of all requests since Pitwall first looked, whoever sent them, warm-up included. The server counts in buckets: a "
    "percentile lies between the two bounds."
)


def server_latency_table(asked: Asked, run: Run) -> None:
    """Nothing where the server has no histograms, or has served nothing."""
    by_metric = {row["metric"]: row for row in server_latency(asked, [run.id])[run.id]}
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
    places = [between(row[f"{place}_from_ms"], row[f"{place}_to_ms"]) for place in ("p50", "p95", "p99")]
    return [markup.hint(title, meaning), f"{row['n']:,}", three_digits(row["mean_ms"]), *places]


def between(low_ms: float, high_ms: float | None) -> str:
    """'up to 10', '10 – 20' or 'above 40'."""
    if high_ms is None and not low_ms:
        return DASH  # a histogram of one bucket
    if high_ms is None:
        return f"above {three_digits(low_ms)}"
    return f"{three_digits(low_ms)} {DASH} {three_digits(high_ms)}" if low_ms else f"up to {three_digits(high_ms)}"
