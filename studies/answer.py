"""What a study answers, as `./pitwall study run --json` prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from analysis.guard import RowCode
from analysis.study import ArmState, End
from analysis.verdict.mean import interval_of_mean, mean_of
from commands.study_file import StudyPlan
from domain import JsonValue
from reports.studies.study import StudyStanding, next_arms, starts_by_arm
from studies.several import together
from studies.systems import of_several_machines

OF_THE_MACHINE = (RowCode.STARVATION, RowCode.CLIENT, RowCode.NEIGHBOURS)


def answer_of(plan: StudyPlan, standings: Sequence[StudyStanding]) -> dict[str, JsonValue]:
    """As far as it is known: `answer` is null while the study goes on."""
    return _whole(plan, standings, [], None, is_over=False)


def ended_answer(
    plan: StudyPlan, standings: Sequence[StudyStanding], reasons: Sequence[str], end: End | None = None
) -> dict[str, JsonValue]:
    """The answer at the end; without one that the race gives, it is not known."""
    return _whole(plan, standings, reasons, end, is_over=True)


def _whole(
    plan: StudyPlan, standings: Sequence[StudyStanding], reasons: Sequence[str], end: End | None, is_over: bool
) -> dict[str, JsonValue]:
    """The answer under the one workload; under several, what they agree on, with the answer of each beside it."""
    parts, reasons = plan.under_each(), [*plan.notes, *reasons]
    answers = [
        _answer(part, one, end or one.race.end or End.UNKNOWN if is_over else one.race.end)
        for part, one in zip(parts, standings, strict=True)
    ]
    if len(answers) == 1:
        whole = answers[0] if is_over else answers[0] | {"answer": None, "winner": None}
        return whole | {"reasons": [*reasons, *answers[0]["reasons"]]}
    whole = together([part.workload_title for part in parts], answers, starts_by_arm(standings), reasons, is_over)
    return whole | {"starts_left": None if is_over else _starts_left(plan, standings, whole["runs"])}


def _starts_left(plan: StudyPlan, standings: Sequence[StudyStanding], done: int) -> list[int] | None:
    """The starts left for all workloads together, which share each start: the rounds that the slowest of them takes."""
    going = [one for one in standings if one.race.end is None and one.left is not None and one.race.next_arms]
    if not going:
        return None
    spare, arms = max(0, plan.budget.runs - done), len(next_arms(standings))
    rounds = max(math.ceil(one.left.high / len(one.race.next_arms)) for one in going if one.left)
    return [min(spare, max(one.left.low for one in going if one.left)), min(spare, rounds * arms)]


def _answer(plan: StudyPlan, standing: StudyStanding, end: End | None) -> dict[str, JsonValue]:
    arms: list[JsonValue] = [
        {
            "name": seat.name,
            "runs": len(standing.runs[seat.name]),
            "state": seat.state.value,
            "ratio": seat.ratio,
            "interval": None if seat.interval is None else list(seat.interval),
            "values": list(standing.values.get(seat.name, ())),
            **_means(plan, standing.values.get(seat.name, ())),
            "cause": standing.causes.get(seat.name),
            "predicted": _predicted(standing, seat.name),
        }
        for seat in standing.race.seats
    ]
    return {
        "answer": None if end is None else end.value,
        "winner": standing.race.leader if end is End.WINNER else None,
        "leader": standing.race.leader,
        "objective": standing.objective or None,
        "arms": arms,
        "runs": standing.starts,
        "starts_left": None if end or standing.left is None else list(standing.left),
        "unranked": [
            {"arms": [*pair], "rows": [row.code.value for row in rows]} for pair, rows in standing.refused.items()
        ],
        "reasons": _reasons(plan, standing, end),
    }


def _means(plan: StudyPlan, values: Sequence[float]) -> dict[str, JsonValue]:
    """Where nothing is held against anything: the mean of the starts and its 95 % interval."""
    if plan.question != "measure":
        return {}
    interval = interval_of_mean(values)
    return {"mean": mean_of(values), "mean_interval": None if interval is None else list(interval)}


def _reasons(plan: StudyPlan, standing: StudyStanding, end: End | None) -> list[JsonValue]:
    """What stands behind the answer, in sentences."""
    margin = f"{plan.margin:.3g}"
    away = [seat.name for seat in standing.race.seats if seat.state is ArmState.PREDICTED]
    said: list[JsonValue] = [*of_several_machines(standing.runs)]
    if end is End.WINNER:
        others = "Every other arm that started" if away else "Every other arm"
        others = "Every other arm that raced" if plan.is_proposed else others
        said.append(f"{others} is slower than {standing.race.leader}, by intervals that hold for every look.")
    left = [seat.name for seat in standing.race.seats if seat.state in (ArmState.RACING, ArmState.RESTING)]
    if end is End.SAME:
        said.append(f"{', '.join(left)} differ by less than {margin} of their value: the difference does not matter.")
    if end is End.UNKNOWN and len(left) == 1:
        said.append(f"Only {left[0]} runs: there is nothing to hold it against.")
    elif end is End.UNKNOWN and not standing.refused:
        said.append(_unknown(standing))
    if plan.is_proposed:
        tried = sum(bool(its) for its in standing.runs.values())
        said.append(
            f"{tried} of {plan.combinations} combinations started, by what Optuna proposed; the best of them, and the "
            "first, raced by further starts. Of the others nothing is proven."
        )
    said += [f"{name} was not started. {predicted_words(name, standing)}" for name in away]
    said += [f"{name} is out: {cause}" for name, cause in standing.causes.items()]
    for (one, other), rows in standing.refused.items():
        said.append(
            f"{one} and {other} may not be ranked: {', '.join(row.code.value.replace('_', ' ') for row in rows)}."
        )
    if any(row.code in OF_THE_MACHINE for rows in standing.refused.values() for row in rows):
        said.append("Other work kept the servers, or our client, from the machine: a quiet one would tell.")
    return said


def _unknown(standing: StudyStanding) -> str:
    """Why the arms that are left are not told apart, where no guard refused it."""
    if standing.race.leader is None:
        return "Not every arm has two starts with a value: nothing can be said of their spread."
    return "The starts of the arms that are left differ too much among themselves: more starts would tell."


def _predicted(standing: StudyStanding, name: str) -> JsonValue:
    """What other arms' runs say of an arm, as values and ratios to the first one; None where they say nothing."""
    predicted = standing.predicted.get(name)
    if predicted is None:
        return None
    first = standing.values.get(standing.race.seats[0].name)
    base = fmean(first) if first else None
    between = [predicted.low, predicted.high]
    ratios = [None if base is None or one is None else one / base for one in between]
    return {
        "interval": between,
        "ratio": ratios,
        "requests": predicted.requests,
        "why": predicted_words(name, standing),
    }


def predicted_words(name: str, standing: StudyStanding) -> str:
    """Where it lies, and whose runs say so."""
    predicted = standing.predicted[name]
    if predicted.requests is not None:
        share = f"{predicted.requests:.2f} of one request of its full length"
        return f"Predicted: by the run of {predicted.requests_by}, its KV cache would hold {share}."
    sides = (("at least", predicted.low, predicted.low_by), ("at most", predicted.high, predicted.high_by))
    bounds = [f"{words} {value:.3g} by the run of {by}" for words, value, by in sides if value is not None]
    return f"Predicted, not measured: {standing.objective} is {' and '.join(bounds)}."
