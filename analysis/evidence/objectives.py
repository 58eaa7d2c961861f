"""What a comparison is about: each objective with its unit, its direction and what it means, in this one place.

An objective is named in an address and on the command line: 'decode_tps', or with its concurrency 'output_tps@8'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.evidence.loads import LoadRecord
from errors import PitwallError

FEWEST_FOR_P95 = 100  # requests a run


class Kind(StrEnum):
    """What two arms can be compared by; TERMS has the unit, the direction and the meaning of each."""

    DECODE_TPS = "decode_tps"
    OUTPUT_TPS = "output_tps"
    TTFT_MS = "ttft_ms"
    TPOT_MS = "tpot_ms"
    E2E_MS = "e2e_ms"
    TTFT_P95_MS = "ttft_p95_ms"
    TPOT_P95_MS = "tpot_p95_ms"
    E2E_P95_MS = "e2e_p95_ms"
    WORK_S = "work_s"
    STARTUP_S = "startup_s"
    TOKENS_PER_J = "tokens_per_j"
    LOG_TPS = "log_tps"


@dataclass(frozen=True, slots=True)
class Terms:
    """How an objective is written and read."""

    title: str
    unit: str
    higher_is_better: bool
    meaning: str
    needs_concurrency: bool = True


P95 = f"95th percentile of the same requests; from {FEWEST_FOR_P95} a run on"
TERMS: Mapping[Kind, Terms] = {
    Kind.DECODE_TPS: Terms(
        "decode speed of a stream",
        "tok/s",
        True,
        "Tokens after the first over the time from the first to the end, one request after the other, by kind of "
        "prompt; the headline is the geometric mean of the kinds",
        needs_concurrency=False,
    ),
    Kind.OUTPUT_TPS: Terms(
        "output tok/s", "tok/s", True, "Tokens of all requests over the seconds in which nine tenths of them ran"
    ),
    Kind.TTFT_MS: Terms("time to first token", "ms", False, "Median over the same requests, from sending"),
    Kind.TPOT_MS: Terms("time per output token", "ms", False, "Median over the same requests, after the first token"),
    Kind.E2E_MS: Terms("end-to-end latency", "ms", False, "Median over the same requests, sent to ended"),
    Kind.TTFT_P95_MS: Terms("time to first token, p95", "ms", False, P95),
    Kind.TPOT_P95_MS: Terms("time per output token, p95", "ms", False, P95),
    Kind.E2E_P95_MS: Terms("end-to-end latency, p95", "ms", False, P95),
    Kind.WORK_S: Terms("time to finish the work", "s", False, "Length of the phases, where every answer is as long"),
    Kind.STARTUP_S: Terms("start-up time", "s", False, "From the start of the process to its readiness", False),
    Kind.TOKENS_PER_J: Terms(
        "tokens per joule", "tok/J", True, "Output tokens over the energy of its GPUs meanwhile", False
    ),
    Kind.LOG_TPS: Terms(
        "decode speed by its log", "tok/s", True, "Mean of the log's windows that hold decoding and nothing else", False
    ),
}
NAME = re.compile(r"(?P<kind>[a-z0-9_]+)(?:@(?P<concurrency>\d{1,4}))?")


class UnknownObjectiveError(PitwallError):
    """A name that no objective has."""


@dataclass(frozen=True, slots=True, order=True)
class Objective:
    """One of the kinds, at a concurrency where that belongs to it."""

    kind: Kind
    concurrency: int | None = None

    @property
    def name(self) -> str:
        return self.kind.value if self.concurrency is None else f"{self.kind.value}@{self.concurrency}"

    @property
    def at_once(self) -> int | None:
        """Requests in flight together in what it measures; None where it is about all of a load, or about none."""
        return 1 if self.kind is Kind.DECODE_TPS else self.concurrency

    @property
    def terms(self) -> Terms:
        return TERMS[self.kind]

    @property
    def title(self) -> str:
        """'output tok/s, 8 at once'."""
        if self.concurrency is None:
            return self.terms.title
        return f"{self.terms.title}, {self.load_words}"

    @property
    def load_words(self) -> str:
        """'one at a time', '8 at once'; '' where no concurrency belongs to it."""
        if self.concurrency is None:
            return ""
        return "one at a time" if self.concurrency == 1 else f"{self.concurrency} at once"


def parse_objective(name: str) -> Objective:
    """The objective of this name; raises UnknownObjectiveError with the names there are."""
    found = NAME.fullmatch(name)
    if found and found["kind"] in list(Kind):
        kind = Kind(found["kind"])
        if TERMS[kind].needs_concurrency == bool(found["concurrency"]):
            return Objective(kind, int(found["concurrency"]) if found["concurrency"] else None)
    names = ", ".join(f"{kind.value}@N" if terms.needs_concurrency else kind.value for kind, terms in TERMS.items())
    raise UnknownObjectiveError(f"There is no objective {name[:40]!r}: it is one of {names}, N being the concurrency.")


def objectives_of(loads: Sequence[LoadRecord]) -> list[Objective]:
    """What these loads can be compared by, the one that their workload proposes first."""
    shared = sorted(set.intersection(*(set(load.concurrencies) for load in loads))) if loads else []
    found = [Objective(Kind.DECODE_TPS)] if 1 in shared else []
    found += [Objective(Kind.OUTPUT_TPS, c) for c in reversed(shared) if c > 1]
    if _is_ladder(loads, shared):
        found = [*found[1:], *found[:1]]
    latency = (Kind.TTFT_MS, Kind.TPOT_MS, Kind.E2E_MS)
    found += [Objective(kind, c) for c in shared for kind in latency]
    tails = (Kind.TTFT_P95_MS, Kind.TPOT_P95_MS, Kind.E2E_P95_MS)
    found += [Objective(kind, c) for c in shared if _has_tail(loads, c) for kind in tails]
    found += [Objective(Kind.WORK_S, c) for c in shared]
    return [*found, Objective(Kind.TOKENS_PER_J), Objective(Kind.STARTUP_S)]


def _is_ladder(loads: Sequence[LoadRecord], shared: Sequence[int]) -> bool:
    """Whether most of the load is concurrent: then its highest rung is what it was run for."""
    classes = {request.prompt_class for load in loads for request in load.measured if request.concurrency == 1}
    return len(shared) > 1 and 1 in shared and len(classes) == 1


def _has_tail(loads: Sequence[LoadRecord], concurrency: int) -> bool:
    return all(sum(r.concurrency == concurrency for r in load.measured) >= FEWEST_FOR_P95 for load in loads)
