"""Race of arms by the share of tasks that they solve, judged by Fisher's exact test after each round.

The replicate is the agent's run, so all repeats of an arm's server starts count together. An arm is out if the leader
solves significantly more. The leader is chosen by the data, so the level of a look is divided by all pairs of arms; the
level of a study, by its looks: the rounds that its budget allows. Equality is never claimed: to prove two shares equal
within a few points takes thousands of repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.loads.agent_tasks import SolvedCount, fisher_exact
from analysis.study.race import ArmState, Race, RaceEnd, Seat

LEVEL = 0.05  # of a whole study: the chance to name a winner where all arms solve equally many


def share_race(
    counts: Mapping[str, Sequence[SolvedCount]],
    looks: int,
    failed: Sequence[str] = (),
    refused: Sequence[tuple[str, str]] = (),
) -> Race:
    """Judge the rounds so far.

    counts: arm -> solved repeats of each start. looks: rounds that the study may have. failed: arms that cannot run.
    refused: pairs that must not be ranked against each other.
    """
    pooled = {name: pool(starts) for name, starts in counts.items() if name not in failed}
    judged = {name: count for name, count in pooled.items() if count.n}
    if not pooled or len(judged) < len(pooled):
        waiting = tuple(name for name in pooled if name not in judged)
        return Race(_seats(counts, failed, ()), waiting, None, None if pooled else RaceEnd.FAILED)
    leader = max(judged, key=lambda name: judged[name].solved / judged[name].n)
    if len(judged) == 1:
        is_last = bool(failed)
        return Race(
            _seats(counts, failed, ()), () if is_last else (leader,), leader, RaceEnd.UNKNOWN if is_last else None
        )
    level = LEVEL / looks / (len(judged) * (len(judged) - 1) / 2)
    barred = {frozenset(pair) for pair in refused}
    beaten = [
        name
        for name in judged
        if name != leader
        and frozenset((leader, name)) not in barred
        and fisher_exact(judged[name], judged[leader]) <= level
    ]
    remaining = tuple(name for name in judged if name not in beaten)
    is_over = len(remaining) == 1
    return Race(
        _seats(counts, failed, beaten), () if is_over else remaining, leader, RaceEnd.WINNER if is_over else None
    )


def pool(starts: Sequence[SolvedCount]) -> SolvedCount:
    """Return the repeats of several starts together."""
    return SolvedCount(sum(start.solved for start in starts), sum(start.n for start in starts))


def _seats(
    counts: Mapping[str, Sequence[SolvedCount]], failed: Sequence[str], beaten: Sequence[str]
) -> tuple[Seat, ...]:
    states = dict.fromkeys(beaten, ArmState.OUT) | dict.fromkeys(failed, ArmState.FAILED)
    return tuple(Seat(name, len(starts), states.get(name, ArmState.RACING)) for name, starts in counts.items())
