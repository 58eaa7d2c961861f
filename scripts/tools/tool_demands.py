"""Counts of a load's requests, by one definition for every client, and demands on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

NEAR, NEAR_MS = 0.03, 5.0


class LoadCounts(NamedTuple):
    """Speeds of a load. `tps`: tokens per stream-second in requests, times the streams. `wall_tps`: over all of it.

    `ttft_ms` is the median, since a short lack of CPU delays only a few requests.
    """

    requests: int
    tps: float
    ttft_ms: float
    mean_ttft_ms: float
    wall_tps: float | None = None


class ReportedAggregates(NamedTuple):
    """Aggregates that a tool reports itself, as imported; None: not reported."""

    tps: float | None
    ttft_ms: float | None


def count_load(rows: Sequence[Mapping[str, Any]], tokens: int, streams: int) -> LoadCounts:
    """Count by the client's request times; `tokens` are the server's for all of them."""
    busy_s = sum(row["total_ms"] for row in rows) / 1e3 / streams
    has_times = not any("sent_at" in (row["extra"] or "") for row in rows)  # the importer says where they are not known
    began = min(row["sent_at"].timestamp() for row in rows)
    ended = max(row["sent_at"].timestamp() + row["total_ms"] / 1e3 for row in rows)
    wall = tokens / (ended - began) if has_times else None
    ttfts_ms = [row["ttft_ms"] for row in rows]
    return LoadCounts(len(rows), tokens / busy_s, median(ttfts_ms), fmean(ttfts_ms), wall)


def truth_of(answers: Sequence[Mapping[str, Any]], streams: int) -> LoadCounts:
    """Count by the server's own time stamps."""
    tokens = sum(answer["tokens"] for answer in answers)
    busy_s = sum(answer["last_at"] - answer["asked_at"] for answer in answers) / streams
    wall_s = max(answer["last_at"] for answer in answers) - min(answer["asked_at"] for answer in answers)
    ttfts_ms = [1e3 * (answer["first_at"] - answer["asked_at"]) for answer in answers]
    return LoadCounts(len(answers), tokens / busy_s, median(ttfts_ms), fmean(ttfts_ms), tokens / wall_s)


def answers_of(record: Path, begin: int) -> list[dict[str, Any]]:
    """Return the paced server's records from answer number `begin` on."""
    return [json.loads(line) for line in record.read_text().splitlines()[begin:]]


def is_near(value: float, truth: float, slack: float = 0.0) -> bool:
    return abs(value - truth) <= max(NEAR * truth, slack)


def missed(client: str, counts: LoadCounts, truth: LoadCounts) -> list[str]:
    """Return the unmet demands on a client's records."""
    demands = {
        f"{client}: {counts.requests} requests recorded, {truth.requests} answered": counts.requests == truth.requests,
        f"{client}: {counts.tps:.1f} tok/s where the server sent {truth.tps:.1f}": is_near(counts.tps, truth.tps),
        f"{client}: TTFT {counts.ttft_ms:.1f} ms where it was {truth.ttft_ms:.1f}": is_near(
            counts.ttft_ms, truth.ttft_ms, NEAR_MS
        ),
    }
    return [demand for demand, is_met in demands.items() if not is_met]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(cells) for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {line} |" for line in lines)


def number_text(number: float | None, digits: int = 1) -> str:
    return "not told" if number is None else f"{number:,.{digits}f}"


def share(value: float | None, truth: float | None) -> str:
    """Return '+0.4 %'."""
    return "" if value is None or not truth else f"{value / truth - 1:+.1%}".replace("%", " %")
