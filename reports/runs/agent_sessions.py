"""Agent sessions of one run: their turns, the causes of prefix-cache misses, and what each miss cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.evidence.loads import LoadRecord
from analysis.evidence.measure import prefill_tps, prompt_tps
from analysis.physics.formula_result import Quantity, evaluate
from analysis.physics.money import MILLION, cost_per_million
from analysis.sessions.causes import FULL_KV, CauseTotal, PrefixMiss, ServerEvidence, prefix_misses, totals_of
from analysis.sessions.turns import Turn, turns_of
from domain import Run
from load_records import RequestRecord
from reasons import Code, Reason
from reports.runs.measured_loads import mean_w, measured_span
from reports.runs.prices import Prices
from storage.queries import load_queries, run_data
from storage.queries.condition_queries import conditions

NO_PRICES = Prices()


@dataclass(frozen=True, slots=True)
class MissCost:
    """Cost of tokens that were computed again: tokens over prefill speed, seconds times mean power, and money."""

    tokens: int
    seconds: Quantity
    joules: Quantity
    money: Quantity


@dataclass(frozen=True, slots=True)
class AgentSessions:
    """Turns of all recordings of a run, their misses by request, and the causes, the most expensive first."""

    turns: tuple[Turn, ...] = ()
    misses: Mapping[str, PrefixMiss] = field(default_factory=dict)
    totals: tuple[CauseTotal, ...] = ()
    costs: Mapping[str, MissCost] = field(default_factory=dict)  # by request
    currency: str = ""

    @property
    def uncounted_turns(self) -> int:
        """Answered turns for which the server reported no cached tokens: none of them can have a miss."""
        return sum(turn.cached_tokens is None for turn in self.turns if not turn.request.error_kind)

    def cost_of(self, total: CauseTotal) -> MissCost:
        """Return the cost of all misses of a cause; a sum is unknown if one of its parts is."""
        costs = [self.costs[miss.turn.request_id] for miss in total.misses]
        return MissCost(
            sum(cost.tokens for cost in costs),
            _sum([cost.seconds for cost in costs]),
            _sum([cost.joules for cost in costs]),
            _sum([cost.money for cost in costs]),
        )


def agent_sessions(store: run_data.Queryable, run: Run, prices: Prices = NO_PRICES) -> AgentSessions:
    """Return the agent sessions of a run; empty if no recording stored the parts of its prompts."""
    requests = load_queries.recorded_requests(store, [run.id])[run.id]
    if not requests:
        return AgentSessions()
    turns = turns_of(requests)
    evidence = ServerEvidence(
        run_data.cache_sightings(store, [run.id], FULL_KV)[run.id],
        run_data.slot_counts(store, [run.id]).get(run.id),
        run.config.prefix_caching,
    )
    misses = prefix_misses(turns, evidence)
    power_w, run_tps = _power_w(store, run.id, requests), prefill_tps(requests)
    costs = {miss.turn.request_id: _cost(miss, run_tps, power_w, prices) for miss in misses}
    by_request = {miss.turn.request_id: miss for miss in misses}
    return AgentSessions(tuple(turns), by_request, tuple(totals_of(misses)), costs, prices.currency)


def _power_w(store: run_data.Queryable, run_id: str, requests: Sequence[RequestRecord]) -> float | None:
    """Return the mean watts of the run's GPUs over its recordings; None if they were not sampled."""
    load_ids = sorted({request.load_id for request in requests if request.load_id})
    loads = [
        LoadRecord(run_id, load_id, requests=tuple(request for request in requests if request.load_id == load_id))
        for load_id in load_ids
    ]
    spans = [span for load in loads if (span := measured_span(load))]
    return mean_w(loads, conditions(store, spans)) if spans else None


def _cost(miss: PrefixMiss, run_tps: float | None, power_w: float | None, prices: Prices) -> MissCost:
    """Return a miss's cost at the prefill speed of its own request, else of all recorded requests of the run."""
    tps = prompt_tps(miss.turn.request) or run_tps
    seconds = evaluate(lambda tps: miss.excess_tokens / tps, tps=tps)
    per_million = evaluate(
        cost_per_million,
        output_tps=tps, price_per_hour=prices.per_hour, power_w=power_w, price_per_kwh=prices.per_kwh,
    )  # fmt: skip
    money = evaluate(lambda per_million: miss.excess_tokens * per_million / MILLION, per_million=per_million.value)
    joules = (
        Quantity(None, seconds.reason or Reason(Code.NO_ENERGY))
        if seconds.value is None or power_w is None
        else Quantity(seconds.value * power_w)
    )
    return MissCost(miss.excess_tokens, seconds, joules, money if per_million.value is not None else per_million)


def _sum(quantities: Sequence[Quantity]) -> Quantity:
    reason = next((quantity.reason for quantity in quantities if quantity.value is None), None)
    return Quantity(None, reason) if reason else Quantity(sum(quantity.value or 0.0 for quantity in quantities))
