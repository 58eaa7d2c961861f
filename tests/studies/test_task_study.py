"""Studies that count solved tasks: by stored repeats, and with real servers and a scripted agent."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest

from analysis.comparison.facts import RunFacts
from analysis.loads.agent_tasks import TaskEnd, TaskRepeat
from cli.loads.task import read_task
from commands.study_file import StudyFileError, StudyPlan, study_of_text
from demo.model import ModelFiles
from domain import JsonValue, Run, RunState, Study, utc_now
from load_records import AGENT_TASK, Load, LoadPhase, SuiteCheck
from machine.identity import machine_id
from reports.studies.study import study_statuses
from samples import Batch
from storage.store import Store
from studies.answer import ended_answer
from tests.analysis.comparison.ideal_engine import SERVED, T0
from tests.analysis.comparison.stored.test_store_to_answer import stored as stored_run
from tests.analysis.evidence.test_session_values import session_load
from tests.demo_engine import ROOT
from tests.ports import free_ports
from tests.studies.test_study_run import answer, rows, start
from tests.workloads.agent_tasks.tasks import AGENT, CHECK, PROMPT, task_folder
from web.study_pages.race_words import answer_tables, describe_study, objective_with_unit, plain_row
from workloads import spec_for
from workloads.process.prepare import COMMAND_LINE

TASK = (
    '[[workload]]\nname = "agent-task"\n[workload.params]\n'
    'agent = ["agent"]\ncheck = ["true"]\nfolder = "/tasks/parser"\n'
)


def plan_of(more: str = "", arms: str = "ab", task: str = TASK) -> StudyPlan:
    text = "".join(
        f'[[arm]]\nname = "{name}"\ncommand = "vllm serve org/model --port 8001 --max-num-seqs {8 + ord(name)}"\n'
        for name in arms
    )
    return study_of_text(f'question = "which"\n{more}[budget]\nruns = 4\nrounds = 2\n{text}{task}', "task")


def stored(
    store: Store, plan: StudyPlan, solved: dict[str, list[int]], hashes: dict[str, str] | None = None
) -> list[Run]:
    """Runs with five repeats each, of which so many were solved."""
    runs, now = [], utc_now()
    params: dict[str, JsonValue] = {"agent": ["agent"], "folder": "/tasks/parser"}
    for arm in plan.arms:
        for number, count in enumerate(solved[arm.name]):
            run_id, load_id = f"{arm.name}{number}", f"l-{arm.name}{number}"
            run = Run(
                id=run_id, name=run_id, color=0, config=arm.config, machine_id=machine_id(), created_at=now,
                state=RunState.FINISHED, arm=arm.name, started_at=now, workload={"name": AGENT_TASK},
            )  # fmt: skip
            store.save_run(run)
            task_hash = (hashes or {}).get(arm.name, "h")
            load = Load(run_id, load_id, now, AGENT_TASK, AGENT_TASK, "agent 1", task_hash, params)
            phase = LoadPhase(run_id, load_id, now, 0, "Repeat 1", "measure", 0, now, 1.0, 0.0, 0, True)
            ends = [TaskEnd.SOLVED] * count + [TaskEnd.CHECK_FAILED] * (5 - count)
            checks = [
                SuiteCheck(
                    run_id, load_id, now, AGENT_TASK, "parser", "agent", end is TaskEnd.SOLVED, None,
                    TaskRepeat(end=end).as_json(), repeat=n, item_hash=task_hash,
                )
                for n, end in enumerate(ends)
            ]  # fmt: skip
            store.write(Batch((load, phase, *checks))).result()
            runs.append(run)
    return runs


def answer_of_runs(store: Store, solved: dict[str, list[int]], **more: Any) -> dict[str, Any]:
    plan = plan_of()
    return ended_answer(plan, study_statuses(store, plan, stored(store, plan, solved, **more)), [])


def test_arm_that_solves_nine_of_ten_beats_two_of_ten(store: Store) -> None:
    answer = answer_of_runs(store, {"a": [1, 1], "b": [5, 4]})
    assert (answer["answer"], answer["winner"], answer["objective"]) == ("winner", "b", "solved")
    assert [arm["solved"]["count"] for arm in answer["arms"]] == [2, 9]
    assert answer["reasons"][-1].startswith("Every other arm solves fewer tasks than b")
    ((_, arms),) = answer_tables(answer)
    assert [plain_row(arm)[3] for arm in arms] == ["2 of 10 (6 % to 51 %)", "9 of 10 (60 % to 98 %)"]


def test_five_of_ten_and_six_of_ten_are_not_told_apart(store: Store) -> None:
    answer = answer_of_runs(store, {"a": [3, 2], "b": [3, 3]})
    assert (answer["answer"], answer["winner"]) == ("unknown", None)
    assert answer["reasons"][-1].startswith("The shares of solved tasks do not differ beyond chance")


def test_another_folder_or_agent_is_not_ranked(store: Store) -> None:
    answer = answer_of_runs(store, {"a": [0, 0], "b": [5, 5]}, hashes={"b": "other"})
    assert answer["answer"] == "unknown" and answer["unranked"][0]["arms"] == ["a", "b"]


@pytest.mark.parametrize(("more", "task", "why"), [
    ('objective = "solved"\n', '[[workload]]\nname = "ladder"\n', "'solved' needs the workload 'agent-task'"),
])  # fmt: skip
def test_solved_needs_an_agent_task(more: str, task: str, why: str) -> None:
    with pytest.raises(StudyFileError, match=why):
        plan_of(more, task=task)
    assert plan_of().objective == "solved"


def session_runs(store: Store, plan: StudyPlan) -> list[Run]:
    """Three starts of each arm; turns of the second one take half as long."""
    runs = []
    for place, arm in enumerate(plan.arms):
        for number in range(3):
            record = session_load((2.0 - place) * (1 + number / 500))
            run_id = f"{arm.name}-{number:03}"
            of_run = [replace(row, run_id=run_id, load_id="l") for row in record.requests]
            record = replace(
                record, run_id=run_id, plan=replace(record.plan, run_id=run_id), requests=tuple(of_run),
                phases=tuple(replace(phase, run_id=run_id) for phase in record.phases),
            )  # fmt: skip
            facts = RunFacts(run_id, run_id, SERVED, loads=(record,), began_at=T0)
            config = {"config": arm.config, "arm": arm.name}
            runs.append(stored_run(store, facts, 0, 10.0 * place + number, **config))
    return runs


def test_sessions_race_by_their_turns(store: Store) -> None:
    plan = plan_of('objective = "turn_s"\n', task='[[workload]]\nname = "session"\n')
    actual_ended_answer = ended_answer(plan, study_statuses(store, plan, session_runs(store, plan)), [])
    assert (actual_ended_answer["answer"], actual_ended_answer["winner"], actual_ended_answer["objective"]) == (
        "winner",
        "b",
        "turn_s",
    ), actual_ended_answer["reasons"]


PRICED = 'objective = "session_cost"\n[prices]\ncurrency = "EUR"\nper_hour = 3.6\n'


def test_sessions_race_by_their_cost(store: Store) -> None:
    """16 turns begin a second apart, so that the faster arm's two sessions cost 3.6 EUR/h for its shorter last turn."""
    plan = plan_of(PRICED, task='[[workload]]\nname = "session"\n')
    actual_ended_answer = ended_answer(plan, study_statuses(store, plan, session_runs(store, plan)), [])
    assert (actual_ended_answer["objective"], actual_ended_answer["currency"]) == ("session_cost", "EUR")
    slower, faster = (arm["start_mean"] for arm in actual_ended_answer["arms"])
    assert slower == pytest.approx(0.001 * (15.0 + 3.4) / 2, rel=0.01)
    assert faster == pytest.approx(0.001 * (15.0 + 1.7) / 2, rel=0.01)
    assert objective_with_unit(actual_ended_answer) == "cost per session (EUR)"
    assert StudyPlan.model_validate(plan.model_dump(mode="json")).priced_objective == plan.priced_objective
    now = utc_now()
    study = Study(
        id="s", title="cost", question="which", created_at=now, updated_at=now, plan=plan.model_dump(mode="json"),
        answer=actual_ended_answer,
    )  # fmt: skip
    assert "By cost per session (EUR) at 3.6 EUR/h, under session" in describe_study(study, plan, 6)


@pytest.mark.parametrize("prices", ["", '[prices]\ncurrency = "EUR"\n', '[prices]\nper_hour = 1.0\n',
                                    '[prices]\ncurrency = "EUR"\nper_kwh = -0.1\n'])  # fmt: skip
def test_cost_a_session_needs_a_price(prices: str) -> None:
    with pytest.raises(StudyFileError, match="prices"):
        plan_of('objective = "session_cost"\n' + prices, task='[[workload]]\nname = "session"\n')


def test_documented_examples_can_be_started(tmp_path: Path) -> None:
    task, study = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/agent-tasks.md").read_text(), re.DOTALL)
    (tmp_path / "task.toml").write_text(task)
    assert read_task(tmp_path / "task.toml")["folder"] == str(tmp_path.resolve() / "parser")
    plan = study_of_text(study, "example")
    assert (plan.objective, spec_for(plan.workload, plan.params).name) == ("solved", AGENT_TASK)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_real_study_names_the_arm_whose_agent_solves(tmp_path: Path, tiny_model: ModelFiles) -> None:
    """Two llama.cpp servers; the scripted agent solves as often as the name of the model tells it."""
    folder, port = task_folder(tmp_path), free_ports(1)[0]
    task = {
        "agent": [sys.executable, AGENT, "by-model", "messages", "{model}"], "check": CHECK, "folder": str(folder),
        "repeats": 5, "time_limit_s": 60.0,
    }  # fmt: skip
    arms = "".join(
        f'[[arm]]\nname = "{name}"\nengine = "llama.cpp"\n'
        f'command = "{sys.executable} -m demo serve --port {port} -m {tiny_model.target} --metrics --alias {name}"\n'
        for name in ("solves-2", "solves-9")
    )
    params = "".join(f"{name} = {json.dumps(value)}\n" for name, value in task.items())
    file = tmp_path / "study.toml"
    file.write_text(
        f'question = "which"\n[budget]\nruns = 4\nrounds = 2\n{arms}'
        f'[[workload]]\nname = "agent-task"\n[workload.params]\n{params}'
    )
    status, told = answer(start(file, tmp_path / "data"))
    assert (status, told["answer"], told["winner"]) == (0, "winner", "solves-9"), told
    assert {arm["name"]: arm["solved"]["count"] for arm in told["arms"]} == {"solves-2": 2, "solves-9": 9}
    views = ("requests", "checks", "loads", "load_phases", "results", "turns", "prompt_parts", "events", "runs")
    stored_text = "".join(str(rows(tmp_path / "data", f"SELECT * FROM {view}")) for view in views)
    files = [path for path in (tmp_path / "data/runs").rglob("*") if path.is_file() and "agent-" not in str(path)]
    stored_text += "".join(path.read_text(errors="replace") for path in files)
    stored_text += bundled_text(tmp_path / "data", tmp_path / "all.pitwall.zip")
    assert "solves-9" in stored_text and not any(word in stored_text for word in PROMPT.split())


def bundled_text(data: Path, bundle: Path) -> str:
    """Everything in a bundle of all runs, its tables unpacked."""
    run_ids = [run_id for (run_id,) in rows(data, "SELECT run_id FROM runs")]
    command = [sys.executable, str(COMMAND_LINE), "export", *run_ids, "-o", str(bundle)]
    subprocess.run(command, env=os.environ | {"PITWALL_DATA": str(data)}, check=True, capture_output=True)
    with ZipFile(bundle) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    tables = [str(pq.read_table(io.BytesIO(content)).to_pylist()) for name, content in contents.items()
              if name.endswith(".parquet")]  # fmt: skip
    assert tables
    return "".join([*tables, *(content.decode(errors="replace") for content in contents.values())])
