"""Objectives of a comparison, each with its unit, direction and meaning.

URLs and the command line name an objective 'decode_tps', or with its concurrency 'output_tps@8'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.evidence.loads import LoadRecord
from analysis.evidence.session_values import is_agent_driven, is_session_load
from analysis.metrics.definition import Concurrency, RegisteredMetric
from analysis.metrics.registry import BY_OBJECTIVE, concurrency_label
from analysis.physics.money import StatedPrices
from errors import PitwallError

FEWEST_FOR_P95 = 100  # requests per run


class ObjectiveKind(StrEnum):
    """Quantities by which two arms can be compared; TERMS has the unit, direction and meaning of each."""

    DECODE_TPS = "decode_tps"
    OUTPUT_TPS = "output_tps"
    PROMPT_TPS = "prompt_tps"
    REQUEST_TPS = "request_tps"
    TTFT_MS = "ttft_ms"
    TPOT_MS = "tpot_ms"
    E2E_MS = "e2e_ms"
    TTFT_P95_MS = "ttft_p95_ms"
    TPOT_P95_MS = "tpot_p95_ms"
    E2E_P95_MS = "e2e_p95_ms"
    WORK_S = "work_s"
    TURN_S = "turn_s"
    DEEP_TTFT_MS = "deep_ttft_ms"
    SESSION_J = "session_j"
    SESSION_COST = "session_cost"
    SOLVED_PER_HOUR = "solved_per_hour"
    STARTUP_S = "startup_s"
    TOKENS_PER_J = "tokens_per_j"
    LOG_TPS = "log_tps"


SESSION_OBJECTIVES = (ObjectiveKind.TURN_S, ObjectiveKind.DEEP_TTFT_MS, ObjectiveKind.SESSION_J)


@dataclass(frozen=True, slots=True)
class ObjectiveTerms:
    """Title, unit, direction and meaning of an objective: those of its metric."""

    title: str
    unit: str
    higher_is_better: bool
    meaning: str
    needs_concurrency: bool = True


def _terms_of(metric: RegisteredMetric) -> ObjectiveTerms:
    title = metric.title if metric.label in ("", "p50") else f"{metric.title}, {metric.label}"
    return ObjectiveTerms(
        title[:1].lower() + title[1:],
        metric.unit,
        bool(metric.higher_is_better),
        metric.definition.removesuffix("."),
        metric.concurrency is Concurrency.EACH,
    )


# No metric of a run: it exists only with the prices of a study's plan.
SESSION_COST_TERMS = ObjectiveTerms(
    "cost per session",
    "currency of the plan",
    False,
    "Price of the time and of the GPUs' energy from the first to the end of the last request of loads of agent "
    "sessions, over the number of their sessions, at the prices that the study's plan states",
    needs_concurrency=False,
)
TERMS: Mapping[ObjectiveKind, ObjectiveTerms] = {
    kind: SESSION_COST_TERMS if kind is ObjectiveKind.SESSION_COST else _terms_of(BY_OBJECTIVE[kind])
    for kind in ObjectiveKind
}
NAME = re.compile(r"(?P<kind>[a-z0-9_]+)(?:@(?P<concurrency>\d{1,4}))?")


class UnknownObjectiveError(PitwallError):
    """A name that matches no objective."""


@dataclass(frozen=True, slots=True, order=True)
class Objective:
    """One of the kinds, with a concurrency or prices if the kind needs them."""

    kind: ObjectiveKind
    concurrency: int | None = None
    prices: StatedPrices | None = None

    @property
    def name(self) -> str:
        return self.kind.value if self.concurrency is None else f"{self.kind.value}@{self.concurrency}"

    @property
    def at_once(self) -> int | None:
        """Concurrent requests in its measurement; None if it covers a whole load or no load."""
        return 1 if self.kind is ObjectiveKind.DECODE_TPS else self.concurrency

    @property
    def is_output_speed(self) -> bool:
        """Whether its value is the speed of generated tokens, whose factors are steps and tokens per step."""
        return self.kind in (ObjectiveKind.DECODE_TPS, ObjectiveKind.OUTPUT_TPS, ObjectiveKind.LOG_TPS)

    @property
    def terms(self) -> ObjectiveTerms:
        terms = TERMS[self.kind]
        return replace(terms, unit=self.prices.currency) if self.prices else terms

    @property
    def title(self) -> str:
        """Title with the load, such as 'output tok/s, 8 at once'."""
        if self.concurrency is None:
            return self.terms.title
        return f"{self.terms.title}, {self.load_label}"

    @property
    def load_label(self) -> str:
        """'one at a time', '8 at once' or 'as they arrive'; '' without a concurrency."""
        return concurrency_label(self.concurrency)


def parse_objective(name: str) -> Objective:
    """Return the objective of this name; raises UnknownObjectiveError with the valid names."""
    match = NAME.fullmatch(name)
    if match and match["kind"] in list(ObjectiveKind):
        kind = ObjectiveKind(match["kind"])
        if TERMS[kind].needs_concurrency == bool(match["concurrency"]):
            return Objective(kind, int(match["concurrency"]) if match["concurrency"] else None)
    names = ", ".join(f"{kind.value}@N" if terms.needs_concurrency else kind.value for kind, terms in TERMS.items())
    raise UnknownObjectiveError(f"There is no objective {name[:40]!r}. Choose one of {names}; N is the concurrency.")


def objectives_of(loads: Sequence[LoadRecord]) -> list[Objective]:
    """Return the objectives by which these loads can be compared, the workload's own first."""
    shared = sorted(set.intersection(*(set(load.concurrencies) for load in loads))) if loads else []
    objectives = [Objective(ObjectiveKind.DECODE_TPS)] if 1 in shared else []
    objectives += [Objective(ObjectiveKind.OUTPUT_TPS, c) for c in reversed(shared) if c > 1]
    if _is_ladder(loads, shared):
        objectives = [*objectives[1:], *objectives[:1]]
    latency = (ObjectiveKind.TTFT_MS, ObjectiveKind.TPOT_MS, ObjectiveKind.E2E_MS)
    objectives += [Objective(kind, c) for c in shared for kind in latency]
    tails = (ObjectiveKind.TTFT_P95_MS, ObjectiveKind.TPOT_P95_MS, ObjectiveKind.E2E_P95_MS)
    objectives += [Objective(kind, c) for c in shared if _has_tail(loads, c) for kind in tails]
    objectives += [Objective(kind, c) for kind in (ObjectiveKind.PROMPT_TPS, ObjectiveKind.REQUEST_TPS) for c in shared]
    objectives += [Objective(ObjectiveKind.WORK_S, c) for c in shared]
    if loads and all(map(is_session_load, loads)):
        objectives += [Objective(kind) for kind in SESSION_OBJECTIVES]
    if any(map(is_agent_driven, loads)):  # its requests are the agent's own: only whole tasks and sessions compare
        objectives = [Objective(kind) for kind in (ObjectiveKind.SOLVED_PER_HOUR, *SESSION_OBJECTIVES)]
    return [*objectives, Objective(ObjectiveKind.TOKENS_PER_J), Objective(ObjectiveKind.STARTUP_S)]


def _is_ladder(loads: Sequence[LoadRecord], shared: Sequence[int]) -> bool:
    """Whether most of the load is concurrent, so that its highest rung is its purpose."""
    classes = {request.prompt_class for load in loads for request in load.measured if request.concurrency == 1}
    return len(shared) > 1 and 1 in shared and len(classes) == 1


def _has_tail(loads: Sequence[LoadRecord], concurrency: int) -> bool:
    return all(sum(r.concurrency == concurrency for r in load.measured) >= FEWEST_FOR_P95 for load in loads)
