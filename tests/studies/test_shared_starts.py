"""One server start under all workloads of a study: who starts, what it counts, and what each workload is told of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.comparison.facts import RunFacts
from analysis.comparison.workload import restrict_to_name
from analysis.evidence.loads import LoadRecord
from analysis.study import StartsLeft, race
from commands.study_file import StudyPlan, study_of_text
from domain import Config, Run, RunState, WorkloadSpec, utc_now
from reports.studies.parts import WorkloadPlan, workload_plans
from reports.studies.study import StudyStatus, _cause, _facts_under, next_arms, starts_by_arm
from studies.answer import answer_of
from studies.plan_check import load_specs
from studies.runner import StudyRunner
from tests.analysis.comparison.hand_made import load, run, streams
from tests.studies.test_study_file import WHICH
from workloads import spec_for

TWO = WHICH + '[[workload]]\nname = "ladder"\nobjective = "output_tps@4"\n'
CLEAR = {"a": [100.0, 100.5], "b": [50.0, 50.2]}
CLOSE = {"a": [100.0, 104.0], "b": [99.0, 103.0]}


def plan() -> StudyPlan:
    return study_of_text(TWO, "two")


def start(arm: str, number: int, *workloads: str, **fields: Any) -> Run:
    first, *later = (WorkloadSpec(name=name) for name in workloads)
    return Run(
        id=f"{arm}{number}", name=f"{arm} #{number}", color=0, machine_id="m", created_at=utc_now(), config=Config(),
        arm=arm, workload=first, later_workloads=tuple(later), **fields,
    )  # fmt: skip


def standing(values: dict[str, list[float]], runs: list[Run], left: StartsLeft | None = None) -> StudyStatus:
    logs = {name: [math.log(one) for one in value] for name, value in values.items()}
    by_arm = {name: tuple(run for run in runs if run.arm == name) for name in values}
    values_by_name = {name: tuple(value) for name, value in values.items()}
    return StudyStatus(race(logs, 0.02), values_by_name, "decode_tps", by_arm, remaining=left)


def both_rounds() -> list[Run]:
    return [start(arm, number, "five-prompts", "ladder") for number in (1, 2) for arm in "ab"]


def test_start_counts_once_and_goes_on_if_wanted() -> None:
    standings = [standing(CLEAR, both_rounds()), standing(CLOSE, both_rounds())]
    assert starts_by_arm(standings) == {"a": 2, "b": 2}
    assert standings[0].race.end is not None and next_arms(standings) == ("a", "b")
    answer = answer_of(plan(), standings)
    assert (answer["runs"], [arm["runs"] for arm in answer["arms"]]) == (4, [2, 2])
    assert [workload["runs"] for workload in answer["workloads"]] == [4, 4]


def test_remaining_time_is_the_slowest_workload() -> None:
    standings = [standing(CLOSE, both_rounds(), StartsLeft(2, 4)), standing(CLOSE, both_rounds(), StartsLeft(3, 6))]
    assert answer_of(plan(), standings)["starts_left"] == [3, 6]  # shared: not 5 to 10
    tight = plan().model_copy(update={"budget": plan().budget.model_copy(update={"runs": 7})})
    assert answer_of(tight, standings)["starts_left"] == [3, 3]


def test_round_runs_all_undecided_workloads(tmp_path: Path) -> None:
    nothing: Any = None
    runner = StudyRunner(nothing, nothing, tmp_path, spec_for)
    standings = [standing(CLOSE, both_rounds()), standing(CLOSE, both_rounds())]
    specs = load_specs(plan().per_workload(), spec_for)
    requests = runner._round(plan(), standings, specs)
    assert sorted(request.name or "" for request in requests) == ["a #3", "b #3"]
    for request in requests:
        assert request.workload and (request.workload.name, [w.name for w in request.later_workloads]) == (
            "five-prompts", ["ladder"],
        )  # fmt: skip
        assert request.workload.params["token_scale"] == 0.25


def named_load(name: str, load_id: str, **asked: Any) -> LoadRecord:
    made = load(streams(3), workload=name, **asked)
    assert made.plan
    return replace(made, load_id=load_id, plan=replace(made.plan, load_id=load_id))


def part(workload: str) -> WorkloadPlan:
    return next(
        workload_plan
        for workload_plan in workload_plans(plan().per_workload())
        if workload_plan.plan.workload == workload
    )


def two_loads(state: str = "finished", **second: Any) -> RunFacts:
    return run("r1", named_load("five-prompts", "l1"), named_load("ladder", "l2", **second), state=state)


def test_workload_gets_only_its_own_loads() -> None:
    facts = two_loads()
    assert [load.load_id for load in restrict_to_name(facts, "ladder").loads] == ["l2"]
    assert restrict_to_name(facts, "grid").loads == ()
    told = _facts_under(part("five-prompts"), [facts])
    assert [load.load_id for load in told["r1"].loads] == ["l1"]


@pytest.mark.parametrize(
    ("workload", "counts"), [("five-prompts", True), ("ladder", False)], ids=["went through before", "broke"]
)
def test_failed_start_keeps_earlier_result(workload: str, counts: bool) -> None:
    failed = two_loads("failed", planned_requests=9)  # three of nine were sent when its server died
    assert bool(_facts_under(part(workload), [failed])) is counts
    unplanned = two_loads("failed", planned_requests=None)  # nobody knows whether it was all
    assert not _facts_under(part("ladder"), [unplanned])


def test_failures_eliminate_only_in_own_workload() -> None:
    failed = [start("a", n, "five-prompts", "ladder", state=RunState.FAILED, cause="out of memory") for n in (1, 2)]
    assert _cause(failed, 0, ()) == "out of memory"
    assert _cause([], 2, (1.0, 1.1)) is None
    assert _cause([], 2, ()) == "its load gave no value of the objective"
