"""Agent tasks of runs: the repeats of a load, the share that was solved, and what a solved task cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.evidence.loads import LoadRecord
from analysis.evidence.session_values import is_agent_driven
from analysis.loads.accuracy import ShareInterval, wilson
from analysis.loads.agent_tasks import SolvedCount, TaskRepeat, repeat_of, solved_count
from analysis.physics.formula_result import Quantity, evaluate
from analysis.physics.money import cost_of_work
from analysis.runs.conditions import Span
from load_records import SuiteCheck
from reasons import Code, Reason
from reports.runs.prices import Prices
from storage.queries.condition_queries import conditions
from storage.queries.load_queries import task_checks
from storage.queries.run_data import Queryable


@dataclass(frozen=True, slots=True)
class AgentTaskReport:
    """Repeats by number with the reason why they were not solved; cost of the load over its solved tasks."""

    repeats: tuple[tuple[int, TaskRepeat, str | None], ...]
    count: SolvedCount
    interval: ShareInterval | None  # None: no repeat says anything
    joules: Quantity
    money: Quantity
    currency: str = ""


def agent_task_report(
    store: Queryable, load: LoadRecord, checks: Sequence[SuiteCheck], prices: Prices
) -> AgentTaskReport | None:
    """Return the report of a load; None without checks of an agent task."""
    repeats = tuple((check.repeat or 0, repeat, check.why) for check in checks if (repeat := repeat_of(check)))
    if not repeats:
        return None
    count, span = solved_count(checks), _agent_span(load)
    energy_j = next((row.energy_j for row in conditions(store, [span])), None) if span else None
    money = evaluate(
        cost_of_work,
        seconds=span.seconds if span else None, energy_j=energy_j, price_per_hour=prices.per_hour,
        price_per_kwh=prices.per_kwh,
    )  # fmt: skip
    return AgentTaskReport(
        tuple(sorted(repeats, key=lambda row: row[0])),
        count,
        wilson(*count) if count.n else None,
        _per_solved(Quantity(energy_j, None if energy_j is not None else Reason(Code.NO_ENERGY)), count),
        _per_solved(money, count),
        prices.currency,
    )


def _agent_span(load: LoadRecord) -> Span | None:
    """Return the span from the first agent's start to the last one's end; None before a repeat has ended."""
    if not load.phases:
        return None
    return Span(load.run_id, min(phase.began_at for phase in load.phases), max(phase.ts for phase in load.phases))


def _per_solved(total: Quantity, count: SolvedCount) -> Quantity:
    if total.value is None:
        return total
    return Quantity(total.value / count.solved) if count.solved else Quantity(None, Reason(Code.NONE_SOLVED))


def solved_tasks(store: Queryable, loads: Mapping[str, Sequence[LoadRecord]]) -> dict[str, dict[str, SolvedCount]]:
    """Return by run id and load id the solved repeats of the runs that had an agent task."""
    run_ids = [run_id for run_id, run_loads in loads.items() if any(map(is_agent_driven, run_loads))]
    checks = task_checks(store, run_ids) if run_ids else {}
    return {
        run_id: {
            load_id: solved_count([check for check in run_checks if check.load_id == load_id])
            for load_id in dict.fromkeys(check.load_id for check in run_checks)
        }
        for run_id, run_checks in checks.items()
    }
