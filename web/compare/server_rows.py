"""Latency on Compare as each server counts it: a row a metric and definition, for two definitions are two things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import streamlit as st

from analysis.comparison.arms import Arm
from storage.ask.queries import Asked, server_latency
from web import markup
from web.compare.answer.answer_cards import Colors
from web.kept import fold
from web.runs.page.server_latency import METRICS, between
from web.theme import DASH, three_digits

Latency = Mapping[str, Any]
PLACES = ("p50", "p95", "p99")
NOTE = (
    "By each server's own histograms: of all its requests, whoever sent them, warm-up included. They are not the "
    "times that our client measured, and nothing is ranked by them. A percentile lies between its two bounds; of "
    "repeats, between the least and the greatest."
)


def server_latencies(asked: Asked, arms: Sequence[Arm], colors: Colors) -> None:
    """Nothing where no server has histograms, or none has served anything."""
    latencies = server_latency(asked, [run.run_id for arm in arms for run in arm.runs])
    rows = latency_rows(arms, latencies)
    if not rows:
        return
    with fold("Latency as the servers count it", "servers", "compare"):
        head = ["As the server counts it", *(markup.named(arm.name, colors[arm.id]) for arm in arms)]
        st.html(markup.table(head, rows, is_numeric=True))
        st.caption(NOTE)


def latency_rows(arms: Sequence[Arm], latencies: Mapping[str, Sequence[Latency]]) -> list[list[str]]:
    """A row for each metric and definition: its mean and the bounds of each percentile, a cell an arm."""
    definitions = sorted({row["definition"] for rows in latencies.values() for row in rows})
    found: list[list[str]] = []
    for metric, definition in product(METRICS, definitions):
        of_arms = [_of_arm(arm, latencies, metric, definition) for arm in arms]
        if not any(of_arms):
            continue
        title, meaning = METRICS[metric]
        found.append([_title(f"{title}, mean, ms", meaning, definition), *map(_mean, of_arms)])
        for place in PLACES:
            found.append(
                [_title(f"{title}, {place}, ms", meaning, definition), *(_bounds(one, place) for one in of_arms)]
            )
    return found


def _title(words: str, meaning: str, definition: str) -> str:
    return f'{markup.hint(words, meaning)} <span class="pw-muted">{markup.text(definition)}</span>'


def _of_arm(arm: Arm, latencies: Mapping[str, Sequence[Latency]], metric: str, definition: str) -> list[Latency]:
    rows = (row for run in arm.runs for row in latencies.get(run.run_id, ()))
    return [row for row in rows if (row["metric"], row["definition"]) == (metric, definition)]


def _mean(rows: Sequence[Latency]) -> str:
    """The mean over all observations of an arm's runs; not known where a server exports no sum."""
    if not rows or any(row["mean_ms"] is None for row in rows):
        return DASH
    count = sum(row["n"] for row in rows)
    return three_digits(sum(row["mean_ms"] * row["n"] for row in rows) / count)


def _bounds(rows: Sequence[Latency], place: str) -> str:
    """That of all observations lies between the least and the greatest of its runs."""
    if not rows:
        return DASH
    uppers = [row[f"{place}_to_ms"] for row in rows]
    return between(min(row[f"{place}_from_ms"] for row in rows), None if None in uppers else max(uppers))
