"""A replicate is one server start: runs that met one process, and loads on it, are put together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import LogSpeed
from analysis.comparison.starts import starts_of
from analysis.runs.conditions import Conditions
from tests.analysis.comparison.hand_made import arm, faster, load, run, streams

REQUESTS = streams(3)


def facts_with_neighbours(run_id: str, *processes: str, speed: float = 1.0) -> RunFacts:
    return run(run_id, load(faster(REQUESTS, speed)), processes=frozenset(processes))


def ids(runs: tuple[RunFacts, ...]) -> list[str]:
    return [run.run_id for run in runs]


def test_runs_of_one_process_share_loads() -> None:
    starts = starts_of(
        [
            facts_with_neighbours("a", "p"),
            facts_with_neighbours("b"),
            facts_with_neighbours("c", "p"),
            facts_with_neighbours("d"),
        ]
    )
    assert ids(starts) == ["a", "b", "d"], "an unknown process is not another unknown one"
    assert [len(start.loads) for start in starts] == [2, 1, 1]


def test_run_with_both_names_joins_the_others() -> None:
    assert ids(
        starts_of(
            [facts_with_neighbours("a", "p"), facts_with_neighbours("b", "q"), facts_with_neighbours("c", "p", "q")]
        )
    ) == ["a"]


def test_joined_starts_keep_all_their_loads() -> None:
    starts = starts_of(
        [
            facts_with_neighbours("a", "p"),
            facts_with_neighbours("b", "q"),
            facts_with_neighbours("c", "r"),
            facts_with_neighbours("d", "p", "q", "r"),
        ]
    )
    assert ids(starts) == ["a"] and len(starts[0].loads) == 4


def test_log_with_most_windows_counts() -> None:
    few, most = (
        replace(facts_with_neighbours(n, "p"), log=LogSpeed(tps, count, "x", None))
        for n, tps, count in (("a", 90, 2), ("b", 10, 8))
    )
    assert starts_of([few, most])[0].log == starts_of([most, few])[0].log == LogSpeed(10, 8, "x", None)


def test_fact_of_a_start_is_reported_once() -> None:
    first = replace(facts_with_neighbours("a", "p"), conditions=(Conditions("a"),), log=LogSpeed(10.0, 3, "x", None))
    second = replace(
        facts_with_neighbours("b", "p"), startup_s=4.0, conditions=(Conditions("b"),), log=LogSpeed(20.0, 9, "x", None)
    )
    (start,) = starts_of([first, second])
    assert start.startup_s == 4.0 and len(start.conditions) == 2 and start.log == LogSpeed(20.0, 9, "x", None)


def test_two_looks_are_not_two_replicates() -> None:
    facts, other_facts = facts_with_neighbours("a0", "p", speed=1.0), facts_with_neighbours("a1", "p", speed=1.21)
    b = arm(facts_with_neighbours("b0"), facts_with_neighbours("b1", speed=1.1))
    (comparison,) = compare_arms([arm(facts, other_facts, facts_with_neighbours("a2", "q", speed=1.1)), b])
    assert comparison.judgement is not None and comparison.judgement.replicates == (2, 2)
    assert [side.value for side in comparison.replicates[0]] == pytest.approx([11.0, 11.0])
