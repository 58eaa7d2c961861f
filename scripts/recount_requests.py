"""Independent recount of a load from its requests.jsonl, to check Compare; it shares no code with it.

Only raw times and counts are read: when each request was sent, when each piece of its stream arrived and how many
tokens it had, and the server's counters between the segments.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

Line = dict[str, Any]
NEEDED = 0.9  # of the requests that were asked for at once


class StepCounts(NamedTuple):
    """Increase of the server's counters over some requests, and the tokens in their streams."""

    requests: int
    tokens: int
    pieces: int
    steps: float  # of one request
    drafts: float
    drafted: float
    accepted: float

    @property
    def streamed_per_step(self) -> float:
        return self.tokens / self.steps

    @property
    def accepted_per_step(self) -> float:
        """Return tokens per step: one, plus the share of steps with a draft times their accepted tokens."""
        accepted_per_draft = self.accepted / self.drafts if self.drafts else 0.0
        return 1 + accepted_per_draft * self.drafted_share

    @property
    def drafted_share(self) -> float:
        """Return the share of steps with a draft."""
        return self.drafts / self.steps

    @property
    def most_cut_share(self) -> float:
        """Return the largest share of tokens that may be cut, since a draft may extend past the end of its answer."""
        longest = math.ceil(self.drafted / self.drafts) if self.drafts else 0
        return longest * self.requests / self.tokens


class Recount(NamedTuple):
    """One run: tok/s by prompt class, one request at a time, and of concurrent requests."""

    decode_tps: dict[str, float]
    steady_tps: float  # while nearly all of them were in flight
    steady_per_piece: float  # tokens, meanwhile
    classes: dict[str, StepCounts]
    together: StepCounts


def recount(path: Path) -> Recount:
    """Recount one load of five prompts from its raw records."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    requests = [line for line in lines if "record" not in line and line["phase"] == "measure"]
    if bad := [line["request_id"] for line in requests if line["error_kind"] or not line["chunk_tokens"]]:
        raise SystemExit(f"{len(bad)} requests failed or showed no text, {bad[0]} first: {path}")
    alone, together = ([r for r in requests if (r["concurrency"] > 1) is many] for many in (False, True))
    by_class = grouped(alone)
    return Recount(
        {name: decode_tps(class_requests) for name, class_requests in by_class.items()},
        *steady(together),
        {name: count_steps(lines, class_requests) for name, class_requests in by_class.items()},
        count_steps(lines, together, with_firsts=True),
    )


def grouped(requests: Iterable[Line]) -> dict[str, list[Line]]:
    by_class: dict[str, list[Line]] = defaultdict(list)
    for request in requests:
        by_class[request["prompt_class"]].append(request)
    return by_class


def decode_tps(requests: list[Line]) -> float:
    """Return the tokens after the first piece of each stream divided by their time."""
    tokens = sum(sum(request["chunk_tokens"][1:]) for request in requests)
    return 1e6 * tokens / sum(sum(request["chunk_us"][1:]) for request in requests)


def steady(requests: list[Line]) -> tuple[float, float]:
    """Return tokens per second, and per piece, while nine tenths of the requests were in flight."""
    full = [(a, b) for a, b in pairwise(sorted(moments(requests))) if running(requests, (a + b) / 2)]
    counts = [n for r in requests for at_s, n in arrivals(r) if any(a < at_s <= b for a, b in full)]
    return sum(counts) / sum(b - a for a, b in full), sum(counts) / len(counts)


def moments(requests: list[Line]) -> set[float]:
    """Return when requests began or ended, in seconds of the phase."""
    return {at_s for request in requests for at_s in lasted(request)}


def lasted(request: Line) -> tuple[float, float]:
    sent_s = request["since_phase_s"]
    return sent_s, sent_s + request["total_ms"] / 1000


def running(requests: list[Line], at_s: float) -> bool:
    """Whether enough of them were in flight."""
    concurrency: int = requests[0]["concurrency"]
    return sum(from_s < at_s < to_s for from_s, to_s in map(lasted, requests)) >= NEEDED * concurrency


def arrivals(request: Line) -> list[tuple[float, int]]:
    """Return (second of the phase, tokens) of each piece."""
    at_us, arrivals_found = 0, []
    for gap_us, tokens in zip(request["chunk_us"], request["chunk_tokens"], strict=True):
        at_us += gap_us
        arrivals_found.append((request["since_phase_s"] + at_us / 1e6, tokens))
    return arrivals_found


def count_steps(lines: list[Line], requests: list[Line], *, with_firsts: bool = False) -> StepCounts:
    """Return the counters read just after the segments of these requests, minus those just before.

    with_firsts: the step that gave a request its first token is one of its steps.
    """
    left_out = 0 if with_firsts else len(requests)
    read = {line["segment"]: line for line in lines if line.get("record") == "load_counters"}
    pairs = [(read[n], read[n + 1]) for n in {request["segment"] for request in requests}]

    def gained(name: str) -> float:
        return float(sum((after[name] or 0) - (before[name] or 0) for before, after in pairs))

    return StepCounts(
        len(requests),
        sum(sum(request["chunk_tokens"]) for request in requests) - left_out,
        sum(len(request["chunk_tokens"]) for request in requests) - left_out,
        gained("inter_token_count_total") + gained("first_tokens_total") * with_firsts,
        gained("drafts_total"),
        gained("draft_tokens_total"),
        gained("accepted_tokens_total"),
    )


def middle(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
