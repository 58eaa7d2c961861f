"""Builds the answer of a study, as printed by `./pitwall study run --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from analysis.evidence.objectives import ObjectiveKind
from analysis.guard import RowCode
from analysis.loads.accuracy import wilson
from analysis.loads.agent_tasks import SolvedCount
from analysis.study import ArmState, RaceEnd
from analysis.verdict.mean import interval_of_mean, mean_of
from commands.study_file import SOLVED, StudyPlan
from domain import JsonValue
from reports.studies.study import StudyStatus, next_arms, starts_by_arm
from studies.several import combine_answers
from studies.systems import machine_warnings

MACHINE_ROWS = (RowCode.STARVATION, RowCode.CLIENT, RowCode.NEIGHBOURS)


def answer_of(plan: StudyPlan, statuses: Sequence[StudyStatus]) -> dict[str, JsonValue]:
    """The answer so far; `answer` is null while the study runs."""
    return _build_answer(plan, statuses, [], None, is_over=False)


def ended_answer(
    plan: StudyPlan, statuses: Sequence[StudyStatus], reasons: Sequence[str], end: RaceEnd | None = None
) -> dict[str, JsonValue]:
    """The final answer; 'unknown' if the race has no result."""
    return _build_answer(plan, statuses, reasons, end, is_over=True)


def _build_answer(
    plan: StudyPlan, statuses: Sequence[StudyStatus], reasons: Sequence[str], end: RaceEnd | None, is_over: bool
) -> dict[str, JsonValue]:
    """The answer under a single workload; under several, their common answer with the answer of each."""
    parts, reasons = plan.per_workload(), [*plan.notes, *reasons]
    answers = [
        _answer(part, status, end or status.race.end or RaceEnd.UNKNOWN if is_over else status.race.end)
        for part, status in zip(parts, statuses, strict=True)
    ]
    if len(answers) == 1:
        answer = answers[0] if is_over else answers[0] | {"answer": None, "winner": None}
        return answer | {"reasons": [*reasons, *answers[0]["reasons"]]}
    answer = combine_answers(
        [part.workload_title for part in parts], answers, starts_by_arm(statuses), reasons, is_over
    )
    return answer | {"starts_left": None if is_over else _starts_left(plan, statuses, answer["runs"])}


def _starts_left(plan: StudyPlan, statuses: Sequence[StudyStatus], start_count: int) -> list[int] | None:
    """The starts left for all workloads, which share each start: the rounds of the slowest workload."""
    undecided = [
        status
        for status in statuses
        if status.race.end is None and status.remaining is not None and status.race.next_arms
    ]
    if not undecided:
        return None
    budget_left, arms = max(0, plan.budget.runs - start_count), len(next_arms(statuses))
    rounds = max(
        math.ceil(status.remaining.high / len(status.race.next_arms)) for status in undecided if status.remaining
    )
    return [
        min(budget_left, max(status.remaining.low for status in undecided if status.remaining)),
        min(budget_left, rounds * arms),
    ]


def _answer(plan: StudyPlan, status: StudyStatus, end: RaceEnd | None) -> dict[str, JsonValue]:
    arms: list[JsonValue] = [
        {
            "name": seat.name,
            "runs": len(status.runs[seat.name]),
            "state": seat.state.value,
            "ratio": seat.ratio,
            "interval": None if seat.interval is None else list(seat.interval),
            "values": list(status.values.get(seat.name, ())),
            **_means(plan, status.values.get(seat.name, ())),
            **_solved(status.solved.get(seat.name)),
            "cause": status.causes.get(seat.name),
            "predicted": _prediction(status, seat.name),
        }
        for seat in status.race.seats
    ]
    return {
        "answer": None if end is None else end.value,
        "winner": status.race.leader if end is RaceEnd.WINNER else None,
        "leader": status.race.leader,
        "objective": status.objective or None,
        **_currency(plan, status.objective),
        "arms": arms,
        "runs": status.starts,
        "starts_left": None if end or status.remaining is None else list(status.remaining),
        "unranked": [
            {"arms": [*pair], "rows": [row.code.value for row in rows]} for pair, rows in status.refused.items()
        ],
        "reasons": _reasons(plan, status, end),
    }


def _currency(plan: StudyPlan, objective: str) -> dict[str, JsonValue]:
    """The currency of the values, if they are money."""
    return {"currency": plan.prices.currency} if plan.prices and objective == ObjectiveKind.SESSION_COST else {}


def _means(plan: StudyPlan, values: Sequence[float]) -> dict[str, JsonValue]:
    """The mean of the starts and its 95 % interval: of 'measure' the result, else beside the ratio."""
    name = "mean" if plan.question == "measure" else "start_mean"
    interval = interval_of_mean(values)
    return {name: mean_of(values), f"{name}_interval": None if interval is None else list(interval)}


def _solved(count: SolvedCount | None) -> dict[str, JsonValue]:
    """The solved repeats of an arm's agent task with Wilson's interval; nothing for other loads."""
    if count is None:
        return {}
    return {"solved": {"count": count.solved, "n": count.n, "interval": list(wilson(*count))}}


def _reasons(plan: StudyPlan, status: StudyStatus, end: RaceEnd | None) -> list[JsonValue]:
    """The reasons for the answer, as sentences."""
    margin = f"{plan.margin * 100:.3g} %"
    predicted_arms = [seat.name for seat in status.race.seats if seat.state is ArmState.PREDICTED]
    reasons: list[JsonValue] = [*machine_warnings(status.runs)]
    if end is RaceEnd.WINNER:
        losers = "Every other arm that started" if predicted_arms else "Every other arm"
        losers = "Every other arm that raced" if plan.is_proposed else losers
        worse = "is slower than {}, by intervals that are valid at every check."
        if status.objective == SOLVED:
            worse = "solves fewer tasks than {}, by Fisher's exact test at a level that is valid at every check."
        reasons.append(f"{losers} {worse.format(status.race.leader)}")
    remaining_arms = [seat.name for seat in status.race.seats if seat.state in (ArmState.RACING, ArmState.RESTING)]
    if end is RaceEnd.SAME:
        reasons.append(f"{', '.join(remaining_arms)} differ by less than {margin}: the difference does not matter.")
    if end is RaceEnd.UNKNOWN and len(remaining_arms) == 1:
        reasons.append(f"Only {remaining_arms[0]} is left: there is nothing to compare it with.")
    elif end is RaceEnd.UNKNOWN and not status.refused:
        reasons.append(_unknown(status))
    if plan.is_proposed:
        started_count = sum(bool(runs) for runs in status.runs.values())
        reasons.append(
            f"{started_count} of {plan.combinations} combinations proposed by Optuna were started; the best and the "
            "first of them raced with further starts. Nothing is proven about the others."
        )
    reasons += [f"{name} was not started. {prediction_text(name, status)}" for name in predicted_arms]
    reasons += [f"{name} is out: {cause}" for name, cause in status.causes.items()]
    reasons += [
        f"{count} start{'s' if count > 1 else ''} of {name} failed because Pitwall's own store did not accept the "
        "record in time. That does not count against the arm; each is repeated while the budget lasts."
        for name, runs in status.runs.items()
        if (count := sum(run.is_failed_by_pitwall for run in runs))
    ]
    if status.unmeasured:
        names = ", ".join(status.unmeasured)
        reasons.append(f"The answers of {names} were not measured, so what the study requires of them is not known.")
    reasons += _unranked_reasons(status)
    if any(row.code in MACHINE_ROWS for rows in status.refused.values() for row in rows):
        reasons.append(
            "Other work on the machine slowed the servers or Pitwall's client: repeat this on an idle machine."
        )
    return reasons


def _unranked_reasons(status: StudyStatus) -> list[JsonValue]:
    """One sentence for all pairs that the same rows of the guard forbid to rank."""
    pairs_by_rows: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair, rows in status.refused.items():
        pairs_by_rows.setdefault(tuple(row.code.value.replace("_", " ") for row in rows), []).append(pair)
    return [
        f"{'; '.join(f'{first} and {second}' for first, second in pairs)} cannot be ranked: {', '.join(row_titles)}."
        for row_titles, pairs in pairs_by_rows.items()
    ]


def _unknown(status: StudyStatus) -> str:
    """Why the remaining arms cannot be distinguished, if no guard refused the ranking."""
    if status.race.leader is None and status.objective == SOLVED:
        return "Not every arm has a repeat that was judged."
    if status.race.leader is None:
        return "Not every arm has two starts with a value, so their spread is unknown."
    if status.objective == SOLVED:
        return "The shares of solved tasks do not differ beyond chance; more repeats may decide."
    return "The starts of the remaining arms vary too much; more starts may decide."


def _prediction(status: StudyStatus, name: str) -> JsonValue:
    """The prediction for an arm from other arms' runs, as values and ratios to the first arm; None if there is none."""
    prediction = status.predicted.get(name)
    if prediction is None:
        return None
    first = status.values.get(status.race.seats[0].name)
    base = fmean(first) if first else None
    bounds = [prediction.low, prediction.high]
    ratios = [None if base is None or bound is None else bound / base for bound in bounds]
    return {
        "interval": bounds,
        "ratio": ratios,
        "requests": prediction.requests,
        "why": prediction_text(name, status),
    }


def prediction_text(name: str, status: StudyStatus) -> str:
    """The prediction for an arm, and the runs that it is based on."""
    prediction = status.predicted[name]
    if prediction.requests is not None:
        share = f"{prediction.requests:.2f} of one request of its full length"
        return f"Predicted from the run of {prediction.requests_by}: its KV cache would hold {share}."
    sides = (("at least", prediction.low, prediction.low_by), ("at most", prediction.high, prediction.high_by))
    bounds = [f"{words} {value:.3g} by the run of {by}" for words, value, by in sides if value is not None]
    return f"Predicted, not measured: {status.objective} is {' and '.join(bounds)}."
