"""Two workloads of one kind in a study: each has what it is called, its own loads, and its own race."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.comparison.workload import restrict_to_name
from commands.study_change import is_grown_from
from commands.study_file import StudyFileError, StudyPlan, study_of_text
from domain import Run, WorkloadSpec, utc_now
from load_records import DRIVER_OPTIONS, Load
from reports.studies.parts import why_indistinguishable, workload_plans
from reports.studies.study import _runs_for
from tests.analysis.comparison.hand_made import load, run, streams
from tests.studies.test_study_file import WHICH
from tests.studies.test_study_run import answer, rows, start, study, why_unranked
from workloads import spec_for

ONE = WHICH[: WHICH.index("[[workload]]")]
SHORT = '[[workload]]\nname = "grid"\nparams = {prompt_tokens = [64], output_tokens = [8]}\n'
LONG = '[[workload]]\nname = "grid"\nparams = {prompt_tokens = [512], output_tokens = [8]}\n'
LOADED = '[[workload]]\nname = "grid"\nlabel = "loaded"\nobjective = "output_tps@4"\nparams = {concurrency = [4]}\n'


def plan(*loads: str) -> StudyPlan:
    return study_of_text(ONE + "".join(loads), "two")


def test_workloads_named_by_label_or_difference() -> None:
    actual_plan = plan(SHORT, LONG, LOADED)
    assert [one.workload_title for one in actual_plan.per_workload()] == [
        "grid (prompt_tokens [64], output_tokens [8])", "grid (prompt_tokens [512], output_tokens [8])", "loaded",
    ]  # fmt: skip
    assert actual_plan.workload_names == ", ".join(one.workload_title for one in actual_plan.per_workload())
    assert [one.objective for one in actual_plan.per_workload()] == [None, None, "output_tps@4"]
    again = StudyPlan.model_validate_json(actual_plan.model_dump_json())
    assert is_grown_from(again, actual_plan)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(StudyFileError, match="two workloads are identical: grid"):
        plan(SHORT, SHORT.replace("params", 'label = "x"\nparams'))
    with pytest.raises(StudyFileError, match="two workloads have the title 'ladder': give each a label"):
        plan(SHORT.replace("params", 'label = "ladder"\nparams'), '[[workload]]\nname = "ladder"\n')
    default = spec_for("ladder").params["tokens"]
    text = f'[[workload]]\nname = "ladder"\nparams = {{tokens = {default}}}\n'
    same = plan('[[workload]]\nname = "ladder"\n', text)
    assert (
        why_indistinguishable(same.per_workload())
        == f"The workloads 'ladder' and 'ladder (tokens {default})' are identical."
    )
    assert why_indistinguishable(plan(SHORT, LONG).per_workload()) is None


def test_workload_gets_loads_by_differing_params() -> None:
    parts = workload_plans(plan(SHORT, LONG).per_workload())
    assert [dict(part.params) for part in parts] == [{"prompt_tokens": [64]}, {"prompt_tokens": [512]}]
    made = [replace(load(streams(3), workload="grid"), load_id=text) for text in ("l1", "l2")]
    requested_params = [
        spec_for("grid", {"prompt_tokens": [tokens], "output_tokens": [8]}).params for tokens in (64, 512)
    ]
    for at, params in enumerate(requested_params):
        assert made[at].plan
        made[at] = replace(made[at], plan=replace(made[at].plan, load_id=made[at].load_id, params=params))  # type: ignore[type-var]
    facts = run("r1", *made)
    load_ids = [[load.load_id for load in restrict_to_name(facts, "grid", part.params).loads] for part in parts]
    assert load_ids == [["l1"], ["l2"]]
    carrying = Run(id="r1", name="a #1", color=0, machine_id="m", created_at=utc_now(), arm="a",
                   workload=spec_for("grid", parts[1].plan.params), config=plan(SHORT).arms[0].config)  # fmt: skip
    assert [bool(_runs_for([carrying], part)) for part in parts] == [False, True]


def test_other_tool_results_join_their_workload() -> None:
    one, other_text = (
        f'[[workload]]\nname = "drive:bfcl"\nobjective = "accuracy"\nparams = {{executable = "/p{number}", '
        f'tasks = "simple_python", limit = {number}}}\n'
        for number in (3, 5)
    )
    text = ONE.replace('"which"', '"measure"')
    parts = workload_plans(
        study_of_text(text[: text.index('[[arm]]\nname = "b"')] + one + other_text, "two").per_workload()
    )
    assert [dict(part.params) for part in parts] == [{"limit": 3}, {"limit": 5}]
    load = Load("r1", "l1", utc_now(), "bfcl", "bfcl", params={DRIVER_OPTIONS: {"tasks": "simple_python", "limit": 5}})
    assert [part.matches_load(load) for part in parts] == [False, True]
    assert not parts[0].matches_load(replace(load, params={}))  # taken in before what was asked was recorded
    spec = WorkloadSpec(name="drive:bfcl", params={"executable": "/p3", "tasks": "simple_python", "limit": 3})
    assert [part.is_requested_by(spec) for part in parts] == [True, False]


TRAFFIC = """
[[workload]]
name = "traffic"
label = "short answers"
objective = "decode_tps"
params = {prompt_tokens = 16, output_tokens = 24, concurrency = 1, requests = 4, warmup_requests = 1}
[[workload]]
name = "traffic"
label = "long answers"
objective = "decode_tps"
params = {prompt_tokens = 16, output_tokens = 60, concurrency = 1, requests = 4, warmup_requests = 1}
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_two_loads_of_one_kind_get_two_answers(tmp_path: Path) -> None:
    """Stand-ins of 14 and 10 ms a step: b is best under both, each told by its own loads."""
    file = study(tmp_path, 14.0, 10.0, runs=16)
    text = file.read_text()
    file.write_text(text[: text.index("[[workload]]")] + TRAFFIC)
    data = tmp_path / "data"
    status, told = answer(start(file, data))
    assert [workload["workload"] for workload in told["workloads"]] == ["short answers", "long answers"]
    assert told["objective"] == "decode_tps under short answers, decode_tps under long answers"
    served = rows(data, "SELECT run_id, list(params->>'output_tokens' ORDER BY ts) FROM loads GROUP BY run_id")
    assert [list(map(int, tokens)) for _, tokens in served].count([24, 60]) >= 4
    for workload, tokens in zip(told["workloads"], ("24", "60"), strict=True):
        requested_text = f"SELECT count(*) FROM loads WHERE params->>'output_tokens' = '{tokens}'"
        assert rows(data, requested_text) == [(sum(len(arm["values"]) for arm in workload["arms"]),)], json.dumps(
            workload
        )
    if why_unranked(told):
        assert (status, told["answer"]) == (3, "unknown")
    else:
        assert (status, told["answer"], told["winner"]) == (0, "winner", "b")
        assert all(workload["arms"][1]["ratio"] == pytest.approx(1.4, rel=0.15) for workload in told["workloads"])
