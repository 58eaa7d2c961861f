"""What the answers under several workloads say together: a winner only where it is one under all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.study import ArmState, End
from domain import JsonValue

Answer = Mapping[str, JsonValue]
IN = (ArmState.RACING, ArmState.RESTING)
STATES = (
    *IN,
    ArmState.OUT,
    ArmState.TRIED,
    ArmState.PREDICTED,
    ArmState.FAILED,
)  # the first that an arm has under any workload


def together(
    workloads: Sequence[str],
    answers: Sequence[Answer],
    starts: Mapping[str, int],
    reasons: Sequence[str],
    is_over: bool,
) -> dict[str, JsonValue]:
    """The answer of the study; `workloads` in it holds that of each. starts: of each arm, whatever it was put under."""
    end, winner, why = _end(workloads, answers)
    return {
        "answer": end.value if is_over else None,
        "winner": winner if is_over else None,
        "leader": winner,
        "objective": _objectives(workloads, answers),
        "arms": [_arm([one["arms"][place] for one in answers], starts) for place in range(len(answers[0]["arms"]))],
        "runs": sum(starts.values()),
        "reasons": [
            *reasons,
            *([why] if why and is_over else []),
            *(f"{name}: {said}" for name, one in zip(workloads, answers, strict=True) for said in one["reasons"]),
        ],
        "workloads": [{"workload": name, **one} for name, one in zip(workloads, answers, strict=True)],
    }


def _objectives(workloads: Sequence[str], answers: Sequence[Answer]) -> str | None:
    """The objective under each workload that has one; None where none has."""
    known = [
        f"{one['objective']} under {name}" for name, one in zip(workloads, answers, strict=True) if one["objective"]
    ]
    return ", ".join(known) or None


def _end(workloads: Sequence[str], answers: Sequence[Answer]) -> tuple[End, str | None, str | None]:
    """The end, the winner, and a sentence of why there is none."""
    ends = [one["answer"] for one in answers]
    if End.FAILED in ends:
        return End.FAILED, None, None
    winners = {one["winner"]: name for name, one in zip(workloads, answers, strict=True) if one["winner"]}
    if len(winners) > 1:
        words = ", ".join(f"{winner} wins under {name}" for winner, name in winners.items())
        return End.UNKNOWN, None, f"No arm is best under all workloads: {words}."
    if all(one == End.MEASURED for one in ends):
        return End.MEASURED, None, None
    if End.UNKNOWN in ends or None in ends:
        return End.UNKNOWN, None, None
    if not winners:
        return _shared(answers)
    ((winner, where),) = winners.items()
    behind = [name for name, one in zip(workloads, answers, strict=True) if not _is_in(one, winner)]
    if behind:
        return End.UNKNOWN, None, f"{winner} wins under {where}, and is not among the best under {', '.join(behind)}."
    return End.WINNER, winner, None


def _shared(answers: Sequence[Answer]) -> tuple[End, str | None, str | None]:
    """All workloads end with 'the same': so do they together where the same arms are left."""
    left = [{arm["name"] for arm in one["arms"] if arm["state"] in IN} for one in answers]
    if all(one == left[0] for one in left):
        return End.SAME, None, None
    return End.UNKNOWN, None, "Under each workload some arms are the same, but not the same ones."


def _is_in(answer: Answer, name: str) -> bool:
    return any(arm["name"] == name and arm["state"] in IN for arm in answer["arms"])


def _arm(each: Sequence[Answer], starts: Mapping[str, int]) -> dict[str, JsonValue]:
    """One arm over all workloads: its server starts, and how far it is in; ratios stand with each workload."""
    states = [ArmState(one["state"]) for one in each]
    causes = [str(one["cause"]) for one in each if one["cause"]]
    return {
        "name": each[0]["name"],
        "runs": starts[str(each[0]["name"])],
        "state": next(state for state in STATES if state in states).value,
        "ratio": None,
        "interval": None,
        "values": [],
        "cause": causes[0] if causes else None,
        "predicted": None,
    }
