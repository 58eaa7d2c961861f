"""The assumptions of all answers of a comparison, in words."""

from __future__ import annotations

from dataclasses import replace

from analysis.compare_arms import compare_arms
from analysis.comparison.facts import RunFacts
from analysis.comparison.workload import WorkloadKey
from analysis.evidence.objectives import parse_objective
from analysis.verdict import MARGIN
from engines.forced_acceptance import forced_sentence
from reports.arms.comparison import ComparisonOptions, ComparisonReport
from tests.analysis.comparison.hand_made import arm, load, run, streams
from tests.analysis.comparison.test_start_spread import starts
from web.compare.answer.report_notes import forced_notes, report_notes, spread_notes, workload_titles

OBJECTIVE = parse_objective("decode_tps")
FIVE, LADDER = WorkloadKey("five", "h", '{"rounds": 2}'), WorkloadKey("ladder", "h", "{}")


def facts_with_neighbours(run_id: str, *processes: str) -> RunFacts:
    return run(run_id, load(streams(3)), processes=frozenset(processes))


PLAIN = ComparisonReport(
    (arm(facts_with_neighbours("a")), arm(facts_with_neighbours("b"))),
    OBJECTIVE,
    (OBJECTIVE,),
    (),
    workload=FIVE,
    workloads=(FIVE,),
)


def test_the_usual_needs_no_word() -> None:
    assert report_notes(PLAIN) == [] and ComparisonOptions().margin is MARGIN


def test_what_makes_a_start_is_said() -> None:
    twice = arm(facts_with_neighbours("c0", "p"), facts_with_neighbours("c1", "p"), facts_with_neighbours("c2", "q"))
    assert report_notes(replace(PLAIN, arms=(PLAIN.arms[0], twice))) == [
        "c0: 3 runs used 2 server starts; runs of one server process count as one start.",
        "c0: several loads on one server start count as one value, their mean.",
    ]


def test_a_margin_and_a_workload_are_said() -> None:
    assert report_notes(replace(PLAIN, margin=0.05, workloads=(FIVE, LADDER))) == [
        "Compared under the workload five; other loads of these runs do not count.",
        "Differences below 5 % count as irrelevant.",
    ]


def test_another_objective_is_a_lead() -> None:
    arms = PLAIN.arms
    by_length = parse_objective("ttft_ms@1")
    [note] = report_notes(replace(PLAIN, objective=by_length, answers=tuple(compare_arms(arms, by_length))))
    assert note.startswith("Not compared by the workload's own objective, stream speed: take this as a lead")
    assert report_notes(replace(PLAIN, answers=tuple(compare_arms(arms, OBJECTIVE)))) == []


def test_spread_of_starts_is_noted_by_its_parts() -> None:
    """Of the arm whose starts vary by more than the margin; the other does not draft."""
    plain, drafting = starts([(1.0, 50.0), (1.0, 51.0)]), starts([(2.0, 50.0), (2.2, 50.0)])
    [answer] = compare_arms(PLAIN.arms, OBJECTIVE)
    answers = (replace(answer, replicates=(tuple(plain), tuple(drafting))),)
    assert spread_notes(replace(PLAIN, answers=answers)) == [
        "b: between its 2 starts the speed varies by 6.7 % (standard deviation), tokens per step by 6.7 % and steps/s "
        "by 0.0 %."
    ]
    assert spread_notes(replace(PLAIN, answers=answers, margin=0.1)) == []


def test_workloads_of_one_name_are_told_apart() -> None:
    three, other_replace = FIVE._replace(params_json='{"rounds": 3, "seed": 1}'), FIVE._replace(prompts="h2")
    titles = workload_titles([FIVE, three, LADDER])
    assert list(titles.values()) == ["five (rounds 2, seed not set)", "five (rounds 3, seed 1)", "ladder"]
    assert (
        list(workload_titles([FIVE, other_replace]).values()) == [FIVE.id, other_replace.id]
        and FIVE.id != other_replace.id
    )


def test_forced_acceptance_is_noted_by_arm() -> None:
    forced = replace(PLAIN.arms[0].runs[0].served, forced_acceptance="--spec-synth-len 2")
    arm = replace(PLAIN.arms[0], runs=(replace(PLAIN.arms[0].runs[0], served=forced),))
    note = f"{arm.name}: {forced_sentence('--spec-synth-len 2')}"
    assert report_notes(replace(PLAIN, arms=(arm, *PLAIN.arms[1:]))) == [note] == forced_notes([arm])
