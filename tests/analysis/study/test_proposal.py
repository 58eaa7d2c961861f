"""More than two settings: Optuna proposes, the store keeps what was tried, and the best race by further starts."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.study import ArmState, RaceEnd, explore, race
from analysis.study.proposal import NOT_INSTALLED, Setting, Trial, propose_combination
from benchmarks.simulations.proposal_simulation import combinations, starts_by_order, starts_by_proposal
from commands.study_change import with_choice
from commands.study_file import StudyFileError, StudyPlan, study_of_text
from domain import Run, RunState, Study, utc_now
from reports.studies.study import StudyStatus, _race_proposed
from studies.answer import ended_answer
from studies.runner import StudyRunner
from tests.demo_engine import ROOT
from tests.ports import free_ports
from tests.studies.test_study_run import answer, rows, start, why_unranked
from workloads import spec_for

TWO_BY_THREE = (Setting(2, True), Setting(3, False))
FILE = """
question = "value"
[budget]
runs = 18
trials = 8
[[arm]]
name = "tuned"
command = "COMMAND"
[[vary]]
field = "max_num_seqs"
values = [8, 16, 32]
[[vary]]
field = "max_num_batched_tokens"
values = [512, 1024, 2048]
[[vary]]
field = "max_model_len"
values = [1024, 2048, 4096]
[[workload]]
name = "demo-stream"
[workload.params]
requests = 2
tokens = 60
warmup_tokens = 2
"""
COMMAND = "vllm serve stand-in --port 8000 --max-num-seqs 8 --max-num-batched-tokens 512 --max-model-len 1024"


def plan() -> StudyPlan:
    return study_of_text(FILE.replace("COMMAND", COMMAND), "tuned")


@pytest.mark.wide
def test_finds_the_best_in_far_fewer_starts() -> None:
    """240 made-up combinations, 2 % between starts: no server runs here."""
    proposed = [starts_by_proposal(seed) for seed in range(15)]
    known = [count for count in proposed if count is not None]
    assert len(known) == 15 and max(known) < len(combinations()) / 4
    assert 3 * median(known) < median(starts_by_order(seed, is_drawn=False) for seed in range(15))
    assert 2 * median(known) < median(starts_by_order(seed, is_drawn=True) for seed in range(15))


def test_no_repeated_proposal_and_the_end_is_said() -> None:
    trials: list[Trial] = []
    while choice := propose_combination(TWO_BY_THREE, trials, 1):
        trials.append(Trial(choice, float(len(trials)) if len(trials) % 2 else None))
    assert sorted(trial.choice for trial in trials) == list(itertools.product(range(2), range(3)))


def test_stateless_proposals_are_reproducible() -> None:
    trials = [Trial(choice, -sum(choice) * 1.0) for choice in combinations()[::31]]
    settings = (Setting(5, True), Setting(4, True), Setting(4, True), Setting(3, False))
    words = f"from analysis.study.proposal import *; print(propose_combination({settings!r}, {trials!r}, 3))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert elsewhere.strip() == str(propose_combination(settings, trials, 3))


@pytest.mark.wide
def test_it_is_imported_only_when_it_is_used() -> None:
    words = "import sys, app, studies.runner, cli.main; assert not any(m.startswith('optuna') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=True)


def test_missing_proposer_is_refused_with_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun_plan = plan()
    monkeypatch.setattr("analysis.study.proposal.find_spec", lambda name: None)
    with pytest.raises(StudyFileError, match=r"requirements-optuna\.txt"):
        plan()
    study_of_text(FILE.replace("COMMAND", COMMAND).rpartition("[[vary]]")[0] + LOAD, "grid")  # two need none
    studies: list[Study] = []
    runner, study = runner_of(studies, tmp_path), study_of(begun_plan)
    runner._open_studies = {study.id: study}
    runner._propose(study, begun_plan, [standing_of(begun_plan)], [Trial((0, 0, 0), 1.0)])
    assert studies[-1].state == "ended" and NOT_INSTALLED in (studies[-1].answer or {})["reasons"]


LOAD = '[[workload]]\nname = "demo-stream"\n'


def runner_of(kept: list[Study], folder: Path) -> StudyRunner:
    store: Any = SimpleNamespace(save_study=kept.append)
    nobody: Any = None
    return StudyRunner(store, nobody, folder, spec_for)


def study_of(study_plan: StudyPlan) -> Study:
    return Study(id="s", title="t", question="value", created_at=utc_now(), updated_at=utc_now(),
                 plan=study_plan.model_dump(mode="json"))  # fmt: skip


def standing_of(study_plan: StudyPlan) -> StudyStatus:
    arms = {arm.name: [0.0] for arm in study_plan.arms}
    return StudyStatus(race(arms, 0.02), {}, "decode_tps", dict.fromkeys(arms, ()), trials=())


def test_proposal_is_stored_before_its_start(tmp_path: Path) -> None:
    studies: list[Study] = []
    begun_plan = plan()
    runner, study = runner_of(studies, tmp_path), study_of(begun_plan)
    runner._open_studies = {study.id: study}
    runner._propose(study, begun_plan, [standing_of(begun_plan)], [Trial((0, 0, 0), 1.0)])
    first, second = StudyPlan.model_validate(studies[-1].plan).arms
    assert first.choice == (0, 0, 0) != second.choice
    argv = dict(zip(second.config.argv[3::2], second.config.argv[4::2], strict=True))
    assert argv["--max-num-seqs"] == str([8, 16, 32][second.choice[0]])
    assert argv["--max-model-len"] == str([1024, 2048, 4096][second.choice[2]])


def test_each_starts_once_then_best_races_first() -> None:
    assert explore(["a"], {}, 4).probe == "a"
    assert explore(["a"], {"a": 1.0}, 4).wants_more
    assert explore(["a", "b"], {"a": 1.0}, 4).probe == "b"
    went = {"a": 0.1, "b": None, "c": 0.9, "d": 0.5, "e": 0.7, "f": 0.2}
    assert explore(list(went), went, 6).racers == ("a", "c", "d", "e")
    nobody = explore(["a", "b"], {"a": None, "b": None}, 2)
    assert not (nobody.probe or nobody.wants_more or nobody.racers)


def test_qualifying_start_does_not_count() -> None:
    """By all three starts b would lead; by those of the race a does, and the others are said to be tried."""
    begun_with_choice = plan().model_copy(update={"budget": plan().budget.model_copy(update={"trials": 5})})
    for choice in ((1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 2, 0)):
        begun_with_choice = with_choice(begun_with_choice, choice)
    names = [arm.name for arm in begun_with_choice.arms]
    logs = dict(zip(names, ([0.0, 0.5, 0.501], [2.0, 0.1, 0.101], [0.1], [0.3], [0.4]), strict=True))
    run = Run(id="r", name="r", color=0, machine_id="m", created_at=utc_now(), config=begun_with_choice.arms[0].config,
               state=RunState.FINISHED)  # fmt: skip
    told, trials = _race_proposed(begun_with_choice, logs, {name: [run] for name in names}, {}, ())
    assert trials is None
    states = {seat.name: seat.state for seat in told.seats}
    assert told.next_arms == (names[3], names[4])
    assert states[names[2]] is ArmState.TRIED
    logs[names[3]], logs[names[4]] = [0.3, 0.2, 0.201], [0.4, 0.2, 0.199]
    told, _ = _race_proposed(begun_with_choice, logs, {name: [run] for name in names}, {}, ())
    assert (told.end, told.leader) == (RaceEnd.WINNER, names[0])
    values = {name: tuple(log) for name, log in logs.items()}
    standing = StudyStatus(told, values, "decode_tps", dict.fromkeys(names, (run,)))
    reasons = ended_answer(begun_with_choice, [standing], [])["reasons"]
    assert reasons[0].startswith("Every other arm that raced is slower") and "5 of 27 combinations" in reasons[1]


def test_a_file_of_several_settings() -> None:
    actual_plan = plan()
    assert (actual_plan.is_proposed, actual_plan.combinations, actual_plan.trials, len(actual_plan.arms)) == (
        True,
        27,
        8,
        1,
    )
    with pytest.raises(StudyFileError, match="only one workload is allowed"):
        study_of_text(FILE.replace("COMMAND", COMMAND) + '[[workload]]\nname = "ladder"\n', "two")
    with pytest.raises(StudyFileError, match="max_model_len has a single value"):
        study_of_text(FILE.replace("COMMAND", COMMAND).replace("[1024, 2048, 4096]", "[1024]"), "one")
    assert study_of_text(FILE.replace("COMMAND", COMMAND).replace("trials = 8", "trials = 400"), "all").trials == 27


STAND_IN = """#!{python}
import sys
sys.path.insert(0, {root!r})
from demo import paced
words = dict(zip(sys.argv[3::2], sys.argv[4::2]))
away = abs([8, 16, 32].index(int(words["--max-num-seqs"])) - 2)
away += abs([512, 1024, 2048].index(int(words["--max-num-batched-tokens"])) - 1)
away += abs([1024, 2048, 4096].index(int(words["--max-model-len"])) - 1)
sys.exit(paced.main(["--port", words["--port"], "--step-ms", str(4 + 4 * away)]))
"""


@pytest.mark.long
@pytest.mark.timeout(500)
def test_study_survives_a_kill_to_its_end(tmp_path: Path) -> None:
    """A stand-in of 4 ms a token at 32, 1024, 2048, and 4 ms more for each step away; 27 combinations."""
    server = tmp_path / "vllm"
    server.write_text(STAND_IN.format(python=sys.executable, root=str(ROOT)))
    server.chmod(0o755)
    command = COMMAND.replace("vllm", str(server), 1).replace("8000", str(free_ports(1)[0]))
    file, data = tmp_path / "tuned.toml", tmp_path / "data"
    file.write_text(FILE.replace("COMMAND", command))
    first = start(file, data)
    deadline = time.monotonic() + 200
    finished = "SELECT 1 FROM runs WHERE state = 'finished'"
    while not ((data / "monitor.duckdb").exists() and len(rows(data, finished)) >= 3):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    _, told = answer(start(file, data))
    names = [row[0] for row in rows(data, "SELECT arm FROM runs ORDER BY run_id")]
    assert len(set(names[:8])) == 8 and set(names[8:]) <= set(names[:8]), "each once, then the best of them"
    assert len(told["arms"]) == 8 < 27 and told["runs"] == len(names) <= 18
    documents = [json.loads(row[0]) for row in rows(data, "SELECT plan FROM studies")]
    assert len(documents) == 1 and len({tuple(arm["choice"]) for arm in documents[0]["arms"]}) == 8
    away = {arm["name"]: sum(abs(at - best) for at, best in zip(arm["choice"], (2, 1, 1), strict=True))
            for arm in documents[0]["arms"]}  # fmt: skip
    if told["leader"] and not why_unranked(told):
        assert away[told["leader"]] == min(away.values()) <= 1
