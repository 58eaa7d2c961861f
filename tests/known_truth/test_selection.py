"""The stored runs that a comparison is about."""

from __future__ import annotations

from analysis.verdict import VerdictAnswer
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm
from web.compare.answer.report_notes import report_notes

PLAIN, FASTER = PacedServer(), PacedServer(step_s=0.02 / 1.2)
SHORT = {"tokens": 32, "repeats": 2, "rungs": [1, 4]}
OTHER = {"tokens": 48, "repeats": 2, "rungs": [1, 4]}


def test_runs_without_the_workload_are_left_out(played: PlayedStore) -> None:
    """They are no arms, so they widen no interval, and a configuration is not compared with itself."""
    pair = played.play([PlayedArm("a", PLAIN, params=SHORT), PlayedArm("b", FASTER, params=SHORT)], 3)
    play = played.play([PlayedArm("a", PLAIN, params=OTHER)], 2)
    alone, mixed = played.report(pair), played.report([*pair, *play])
    assert mixed.workload == alone.workload and len(mixed.arms) == 2
    assert set(mixed.without_workload) == set(play)
    (first,), (second,) = alone.answers, mixed.answers
    assert first.judgement and second.judgement and first.judgement.interval == second.judgement.interval
    assert second.judgement.answer is VerdictAnswer.BETTER
    assert sum("lack the compared workload" in note for note in report_notes(mixed)) == 1
    workloads = next(workload for workload in mixed.workloads if workload != mixed.workload)
    assert len(played.report([*pair, *play], workload=workloads.id).arms) == 3, "those who have it are one arm"


def test_one_arm_is_compared_with_all_there_is(played: PlayedStore) -> None:
    """Of two arms under two workloads the guard says why they are not ranked."""
    ids = [
        run for params in (SHORT, OTHER) for run in played.play([PlayedArm("a" * len(str(params)), params=params)], 2)
    ]
    report = played.report(ids)
    assert len(report.arms) == 2 and not report.without_workload and report.answers[0].refused
