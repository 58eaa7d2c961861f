"""A study's answer if nothing is known or its budget is spent; a broken study holds up no other."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.study import Race, RaceEnd, race
from cli.results.study import as_text
from commands.study_file import Budget, study_of_text
from domain import Config, Run, Study, utc_now
from launcher.checks.launch_request import LaunchRefusedError
from launcher.runs.run_factory import SilentStoreError
from reports.studies.study import StudyStatus
from reports.studies.trend import with_versions
from studies.answer import answer_of, ended_answer
from studies.runner import StudyRunner, spent_reason
from tests.analysis.study.test_proposal import runner_of, study_of
from tests.studies.test_study_file import WHICH
from web.study_pages.race_words import (
    answer_tables,
    describe_study,
    objective_with_unit,
    plain_row,
    version_rows,
    why_next,
)
from web.theme import DASH


@pytest.mark.parametrize(
    ("values", "failed", "reason"),
    [
        ({"a": [100.0], "b": [90.0]}, [], "Not every arm has two starts with a value"),
        ({"a": [100.0, 101.0], "b": []}, ["b"], "Only a is left: there is nothing to compare it with."),
        ({"a": [100.0, 140.0], "b": [90.0, 130.0]}, [], "vary too much"),
    ],
)
def test_a_study_without_an_answer_says_why(values: dict[str, list[float]], failed: list[str], reason: str) -> None:
    logs = {name: [math.log(one) for one in value] for name, value in values.items()}
    standing = StudyStatus(
        race(logs, 0.02, failed),
        {name: tuple(value) for name, value in values.items()},
        "decode_tps",
        {"a": (), "b": ()},
    )
    actual_ended_answer = ended_answer(study_of_text(WHICH, "w"), [standing], ["The budget of 2 runs is spent."])
    assert actual_ended_answer["answer"] == RaceEnd.UNKNOWN and reason in actual_ended_answer["reasons"][1]


def test_objective_unknown_before_a_start_ends() -> None:
    nothing = StudyStatus(race({"a": [], "b": []}, 0.02), {}, "", {"a": (), "b": ()})
    actual_ended_answer = ended_answer(study_of_text(WHICH, "w"), [nothing], [])
    assert actual_ended_answer["objective"] is None
    study = study_of(study_of_text(WHICH, "w")).model_copy(update={"answer": actual_ended_answer})
    assert as_text(study).splitlines()[0] == "The answer is not known yet. 0 server starts."
    assert objective_with_unit(actual_ended_answer) == "the workload's own objective"


def logs_of(**values: list[float]) -> Race:
    return race({name: [math.log(one) for one in value] for name, value in values.items()}, 0.02)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (logs_of(a=[100.0, 100.2, 100.1], b=[130.0, 130.2, 130.1]), ["out", "best"]),
        (logs_of(a=[100.0, 100.1, 100.05], b=[100.0, 100.1, 100.06]), ["the same", "the same"]),
        (logs_of(a=[100.0, 140.0], b=[90.0, 130.0]), ["not decided", "not decided"]),
    ],
)
def test_ended_study_lets_no_arm_race(told: Race, words: list[str]) -> None:
    plan = study_of_text(WHICH, "w")
    standing = StudyStatus(told, {}, "decode_tps", {"a": (), "b": ()})
    ended = ended_answer(plan, [standing], [])
    ((_, arms),) = answer_tables(ended)
    assert [plain_row(arm)[1] for arm in arms] == words
    study = study_of(plan).model_copy(update={"state": "ended", "answer": ended})
    lines = as_text(study).splitlines()[1:3]
    assert all(word in line for word, line in zip(words, lines, strict=True)) and "1.00x" in lines[0]
    assert "in total" in describe_study(study, plan, 6) and "so far" not in describe_study(study, plan, 6)


def test_guard_separation_explains_more_starts() -> None:
    row = GuardRow(RowCode.GPU_LIMITS, RowStatus.MATTERS, {})
    logs, arms = logs_of(a=[100.0, 100.2], b=[99.9, 100.05]), {"a": (), "b": ()}
    answer = answer_of(
        study_of_text(WHICH, "w"), [StudyStatus(logs, {}, "decode_tps", arms, refused={("a", "b"): (row,)})]
    )
    assert answer["unranked"] == [{"arms": ["a", "b"], "rows": ["gpu_limits"]}]
    assert "a and b cannot be ranked: gpu limits." in answer["reasons"]
    assert why_next(study_of_text(WHICH, "w"), answer).endswith("further starts may allow it: a and b.")


def test_pairs_refused_for_one_reason_share_a_sentence() -> None:
    row = GuardRow(RowCode.GPU_LIMITS, RowStatus.MATTERS, {})
    arms: dict[str, tuple[Run, ...]] = {"a": (), "b": (), "c": ()}
    refused = {("a", "b"): (row,), ("a", "c"): (row,)}
    status = StudyStatus(logs_of(a=[1.0, 1.1], b=[1.0, 1.1], c=[1.0, 1.1]), {}, "decode_tps", arms, refused=refused)
    reasons = answer_of(study_of_text(WHICH, "w"), [status])["reasons"]
    assert [reason for reason in reasons if "cannot be ranked" in str(reason)] == [  # type: ignore[union-attr]
        "a and b; a and c cannot be ranked: gpu limits."
    ]


def test_table_gives_means_in_the_objectives_unit() -> None:
    values = {"a": (99.0, 100.0, 101.0), "b": (50.0,)}
    status = StudyStatus(logs_of(a=list(values["a"]), b=[50.0]), values, "decode_tps", {"a": (), "b": ()})
    answer = answer_of(study_of_text(WHICH, "w"), [status])
    ((_, arms),) = answer_tables(answer)
    assert [plain_row(arm)[3] for arm in arms] == ["100 (97.54 to 102.5)", "50"]
    study = study_of(study_of_text(WHICH, "w")).model_copy(update={"answer": answer})
    assert "By stream speed (tok/s)" in describe_study(study, study_of_text(WHICH, "w"), 4)


def test_upgrade_names_same_config_over_versions() -> None:
    versions = [
        {"version": "0.32.0", "starts": 2, "mean": 100.0, "interval": [98.0, 102.0], "first_at": "2026-11-20T12:00:00"},
        {"version": None, "starts": 1, "mean": 101.0, "interval": None, "first_at": None},
    ]
    answer = {
        "answer": "same",
        "winner": None,
        "runs": 4,
        "objective": "decode_tps",
        "arms": [],
        "reasons": [],
        "versions": versions,
    }
    assert version_rows(answer) == [
        ["0.32.0", "2", "100", "98 to 102", "20 Nov 2026"],
        ["not known", "1", "101", DASH, DASH],
    ]
    study = study_of(study_of_text(WHICH, "w")).model_copy(update={"answer": answer})
    assert "  version 0.32.0: 100 (98 to 102), 2 starts" in as_text(study).splitlines()
    nothing: Any = None
    told = with_versions(nothing, study_of_text(WHICH, "w"), [], answer)
    assert told == answer, "of another question nothing is asked of the store"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (logs_of(a=[100.0], b=[90.0]), "An answer needs two starts of each arm."),
        (logs_of(a=[100.0, 140.0], b=[90.0, 130.0]), "a, b may each still be best by 2.0 % or more."),
        (logs_of(a=[100.0, 100.2], b=[99.9, 100.05]), "it remains to be shown whether they are slower."),
    ],
)
def test_why_the_next_servers_start_is_told(told: Race, why: str) -> None:
    plan = study_of_text(WHICH, "w").model_copy(update={"margin": 0.02})
    assert why_next(plan, answer_of(plan, [StudyStatus(told, {}, "decode_tps", {"a": (), "b": ()})])).endswith(why)


def test_round_is_retried_after_a_silent_store(tmp_path: Path) -> None:
    studies: list[Study] = []
    runner, plan = runner_of(studies, tmp_path), study_of_text(WHICH, "w")
    study, standing = study_of(plan), StudyStatus(logs_of(a=[], b=[]), {}, "decode_tps", {"a": (), "b": ()})
    runner._open_studies = {study.id: study}
    for refusal, state in ((SilentStoreError("not now"), "running"), (LaunchRefusedError("no such model"), "ended")):
        supervisor: Any = Mock(launch_round=Mock(side_effect=refusal))
        runner._supervisor = supervisor
        runner._launch(study, plan, [standing])
        assert supervisor.launch_round.called and studies[-1].state == state


def test_unstored_runs_belong_to_the_study(tmp_path: Path) -> None:
    a_run = Run(id="r", name="r", color=0, machine_id="m", config=Config(), created_at=utc_now(), batch_id="s")
    other = a_run.model_copy(update={"id": "o", "batch_id": "another"})
    runner, study = runner_of([], tmp_path), study_of(study_of_text(WHICH, "w"))
    runner._supervisor = Mock(live_runs=lambda: [other], queued_runs=lambda: [a_run])
    runner._store = Mock(query=Mock(return_value=pa.Table.from_pylist([])))
    assert runner._runs(study) == [a_run], "or its round would be started once more"


def test_failing_study_blocks_no_other_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stepped: list[str] = []

    def step(runner: StudyRunner, study: Study) -> None:
        stepped.append(study.id)
        if study.id == "broken":
            raise OverflowError("a number is too large for its column")

    monkeypatch.setattr(StudyRunner, "_step", step)
    runner: Any = runner_of([], tmp_path)
    runner._open_studies = {
        name: study_of(study_of_text(WHICH, "w")).model_copy(update={"id": name}) for name in ("broken", "sound")
    }
    with caplog.at_level(logging.ERROR):
        runner.tick()
        runner.tick()
    assert stepped == ["broken", "sound"] * 2
    assert len(caplog.records) == 1, "the same fault is told once, not at every look"


@pytest.mark.parametrize(
    ("started", "due", "rounds_done", "age_h", "told"),
    [
        (0, 2, 0, 0.0, None),
        (3, 2, 1, 0.0, None),
        (5, 2, 2, 0.0, "The budget of 5 runs is spent."),
        (4, 2, 2, 0.0, "The budget of 5 runs has 1 left, and the next round takes 2."),
        (0, 6, 0, 0.0, "The budget of 5 runs has 5 left, and the next round takes 6."),
        (2, 2, 3, 0.0, "The budget of 3 rounds is spent."),
        (2, 2, 1, 1.5, "The budget of 1.5 hours is spent."),
    ],
)
def test_budget_explains_why_no_round_begins(
    started: int, due: int, rounds_done: int, age_h: float, told: str | None
) -> None:
    assert spent_reason(Budget(runs=5, rounds=3, hours=1.5), started, due, rounds_done, age_h) == told
