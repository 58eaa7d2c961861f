"""What is counted of a load's requests, by one definition for every client, and what is demanded of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

NEAR, NEAR_MS = 0.03, 5.0


class Counted(NamedTuple):
    """`tps`: tokens over the streams' time in requests, times the streams. `wall_tps`: over all their span.

    `ttft_ms` is the median: a moment without a CPU holds up a few requests of a client and does not show how it counts.
    """

    requests: int
    tps: float
    ttft_ms: float
    mean_ttft_ms: float
    wall_tps: float | None = None


class Reported(NamedTuple):
    """The aggregates that a tool says itself, as they were imported; None where it says none."""

    tps: float | None
    ttft_ms: float | None


def counted(rows: Sequence[Mapping[str, Any]], tokens: int, streams: int) -> Counted:
    """By the client's times of its own requests; `tokens` are the server's of all of them."""
    busy_s = sum(row["total_ms"] for row in rows) / 1e3 / streams
    has_times = not any("sent_at" in (row["extra"] or "") for row in rows)  # the importer says where they are not known
    began = min(row["sent_at"].timestamp() for row in rows)
    ended = max(row["sent_at"].timestamp() + row["total_ms"] / 1e3 for row in rows)
    wall = tokens / (ended - began) if has_times else None
    ttfts_ms = [row["ttft_ms"] for row in rows]
    return Counted(len(rows), tokens / busy_s, median(ttfts_ms), fmean(ttfts_ms), wall)


def truth_of(answers: Sequence[Mapping[str, Any]], streams: int) -> Counted:
    """The same by the server's own stamps."""
    tokens = sum(one["tokens"] for one in answers)
    busy_s = sum(one["last_at"] - one["asked_at"] for one in answers) / streams
    wall_s = max(one["last_at"] for one in answers) - min(one["asked_at"] for one in answers)
    ttfts_ms = [1e3 * (one["first_at"] - one["asked_at"]) for one in answers]
    return Counted(len(answers), tokens / busy_s, median(ttfts_ms), fmean(ttfts_ms), tokens / wall_s)


def answers_of(record: Path, begin: int) -> list[dict[str, Any]]:
    """What the paced server wrote down from its answer number `begin` on."""
    return [json.loads(line) for line in record.read_text().splitlines()[begin:]]


def is_near(one: float, truth: float, slack: float = 0.0) -> bool:
    return abs(one - truth) <= max(NEAR * truth, slack)


def missed(client: str, found: Counted, truth: Counted) -> list[str]:
    """The demands on a client's records that are not met."""
    demands = {
        f"{client}: {found.requests} requests recorded, {truth.requests} answered": found.requests == truth.requests,
        f"{client}: {found.tps:.1f} tok/s where the server sent {truth.tps:.1f}": is_near(found.tps, truth.tps),
        f"{client}: TTFT {found.ttft_ms:.1f} ms where it was {truth.ttft_ms:.1f}": is_near(
            found.ttft_ms, truth.ttft_ms, NEAR_MS
        ),
    }
    return [demand for demand, is_met in demands.items() if not is_met]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(cells) for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {line} |" for line in lines)


def shown(number: float | None, digits: int = 1) -> str:
    return "not told" if number is None else f"{number:,.{digits}f}"


def share(found: float | None, truth: float | None) -> str:
    """'+0.4 %'."""
    return "" if found is None or not truth else f"{found / truth - 1:+.1%}".replace("%", " %")
