"""Combines a study's answers under several workloads: an arm wins only if it wins or ties under all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.study import ArmState, RaceEnd
from domain import JsonValue

WorkloadAnswer = Mapping[str, JsonValue]
IN_RACE = (ArmState.RACING, ArmState.RESTING)
STATES = (
    *IN_RACE,
    ArmState.OUT,
    ArmState.TRIED,
    ArmState.PREDICTED,
    ArmState.FAILED,
)  # in order: the first state that an arm has under any workload counts


def combine_answers(
    workloads: Sequence[str],
    answers: Sequence[WorkloadAnswer],
    starts: Mapping[str, int],
    reasons: Sequence[str],
    is_over: bool,
) -> dict[str, JsonValue]:
    """The study's answer; its key `workloads` has the answer of each. starts: server starts by arm."""
    end, winner, reason = _end(workloads, answers)
    return {
        "answer": end.value if is_over else None,
        "winner": winner if is_over else None,
        "leader": winner,
        "objective": _objectives(workloads, answers),
        "arms": [
            _arm([answer["arms"][index] for answer in answers], starts) for index in range(len(answers[0]["arms"]))
        ],
        "runs": sum(starts.values()),
        "reasons": [
            *reasons,
            *([reason] if reason and is_over else []),
            *(
                f"{name}: {reason}"
                for name, answer in zip(workloads, answers, strict=True)
                for reason in answer["reasons"]
            ),
        ],
        "workloads": [{"workload": name, **answer} for name, answer in zip(workloads, answers, strict=True)],
    }


def _objectives(workloads: Sequence[str], answers: Sequence[WorkloadAnswer]) -> str | None:
    """The objectives of the workloads; None if there are none."""
    objectives = [
        f"{answer['objective']} under {name}"
        for name, answer in zip(workloads, answers, strict=True)
        if answer["objective"]
    ]
    return ", ".join(objectives) or None


def _end(workloads: Sequence[str], answers: Sequence[WorkloadAnswer]) -> tuple[RaceEnd, str | None, str | None]:
    """The end, the winner, and why there is none."""
    ends = [answer["answer"] for answer in answers]
    if RaceEnd.FAILED in ends:
        return RaceEnd.FAILED, None, None
    winners = {answer["winner"]: name for name, answer in zip(workloads, answers, strict=True) if answer["winner"]}
    if len(winners) > 1:
        winner_text = ", ".join(f"{winner} wins under {name}" for winner, name in winners.items())
        return RaceEnd.UNKNOWN, None, f"No arm is best under all workloads: {winner_text}."
    if all(end == RaceEnd.MEASURED for end in ends):
        return RaceEnd.MEASURED, None, None
    if RaceEnd.UNKNOWN in ends or None in ends:
        return RaceEnd.UNKNOWN, None, None
    if not winners:
        return _shared(answers)
    ((winner, workload),) = winners.items()
    losing_workloads = [
        name for name, answer in zip(workloads, answers, strict=True) if not _is_in_race(answer, winner)
    ]
    if losing_workloads:
        return (
            RaceEnd.UNKNOWN,
            None,
            f"{winner} wins under {workload}, and is not among the best under {', '.join(losing_workloads)}.",
        )
    return RaceEnd.WINNER, winner, None


def _shared(answers: Sequence[WorkloadAnswer]) -> tuple[RaceEnd, str | None, str | None]:
    """The combined end if every workload ends with 'same': 'same' only if the same arms remain."""
    remaining = [{arm["name"] for arm in answer["arms"] if arm["state"] in IN_RACE} for answer in answers]
    if all(names == remaining[0] for names in remaining):
        return RaceEnd.SAME, None, None
    return RaceEnd.UNKNOWN, None, "The workloads end with different sets of equivalent arms."


def _is_in_race(answer: WorkloadAnswer, name: str) -> bool:
    return any(arm["name"] == name and arm["state"] in IN_RACE for arm in answer["arms"])


def _arm(answers: Sequence[WorkloadAnswer], starts: Mapping[str, int]) -> dict[str, JsonValue]:
    """One arm over all workloads: its server starts and state; the ratios are with each workload."""
    states = [ArmState(answer["state"]) for answer in answers]
    causes = [str(answer["cause"]) for answer in answers if answer["cause"]]
    return {
        "name": answers[0]["name"],
        "runs": starts[str(answers[0]["name"])],
        "state": next(state for state in STATES if state in states).value,
        "ratio": None,
        "interval": None,
        "values": [],
        "cause": causes[0] if causes else None,
        "predicted": None,
    }
