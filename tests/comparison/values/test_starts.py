"""A replicate is one server start: runs that met one process, and loads on it, are put together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.comparison.compare import compare_arms
from analysis.comparison.facts import LogSpeed, RunFacts
from analysis.comparison.starts import starts_of
from analysis.runs.conditions import Conditions
from tests.comparison.hand_made import arm, faster, load, run, streams

REQUESTS = streams(3)


def met(run_id: str, *processes: str, speed: float = 1.0) -> RunFacts:
    return run(run_id, load(faster(REQUESTS, speed)), processes=frozenset(processes))


def ids(runs: tuple[RunFacts, ...]) -> list[str]:
    return [one.run_id for one in runs]


def test_runs_of_one_process_are_one_start_with_the_loads_of_both() -> None:
    found = starts_of([met("a", "p"), met("b"), met("c", "p"), met("d")])
    assert ids(found) == ["a", "b", "d"], "an unknown process is not another unknown one"
    assert [len(one.loads) for one in found] == [2, 1, 1]


def test_a_run_that_has_both_names_joins_the_others() -> None:
    assert ids(starts_of([met("a", "p"), met("b", "q"), met("c", "p", "q")])) == ["a"]


def test_three_starts_that_a_run_joins_keep_all_their_loads() -> None:
    found = starts_of([met("a", "p"), met("b", "q"), met("c", "r"), met("d", "p", "q", "r")])
    assert ids(found) == ["a"] and len(found[0].loads) == 4


def test_of_several_logs_the_one_of_most_windows_counts() -> None:
    few, most = (
        replace(met(n, "p"), log=LogSpeed(tps, count, "x", None)) for n, tps, count in (("a", 90, 2), ("b", 10, 8))
    )
    assert starts_of([few, most])[0].log == starts_of([most, few])[0].log == LogSpeed(10, 8, "x", None)


def test_what_is_told_of_a_start_once_is_told_of_it() -> None:
    first = replace(met("a", "p"), conditions=(Conditions("a"),), log=LogSpeed(10.0, 3, "x", None))
    second = replace(met("b", "p"), startup_s=4.0, conditions=(Conditions("b"),), log=LogSpeed(20.0, 9, "x", None))
    (one,) = starts_of([first, second])
    assert one.startup_s == 4.0 and len(one.conditions) == 2 and one.log == LogSpeed(20.0, 9, "x", None)


def test_two_looks_at_one_server_are_no_two_replicates() -> None:
    one, other = met("a0", "p", speed=1.0), met("a1", "p", speed=1.21)
    b = arm(met("b0"), met("b1", speed=1.1))
    (told,) = compare_arms([arm(one, other, met("a2", "q", speed=1.1)), b])
    assert told.judgement is not None and told.judgement.replicates == (2, 2)
    assert [side.value for side in told.replicates[0]] == pytest.approx([11.0, 11.0])
