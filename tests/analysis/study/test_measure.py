"""The question 'measure': one arm, started so many times; nothing is ranked."""

from __future__ import annotations

import math

import pytest

from analysis.study import ArmState, RaceEnd, single_arm_race
from cli.results.study import as_text
from commands.study_change import read_added_arms
from commands.study_file import ArmText, StudyFileError, study_of_text
from domain import Study, utc_now
from reports.studies.study import StudyStatus
from studies.answer import answer_of, ended_answer
from web.study_pages.race_words import answer_tables, describe_study, headers, headline, table_rows

FILE = """
question = "measure"
[budget]
rounds = 3
[[arm]]
name = "mine"
command = "vllm serve MODEL --port 8000"
[[workload]]
name = "traffic"
[[workload]]
name = "five-prompts"
"""
PLAN = study_of_text(FILE, "mine")


def standing(*values: float) -> StudyStatus:
    return StudyStatus(single_arm_race({"mine": values}, 3), {"mine": values}, "decode_tps", {"mine": ()})


def test_measure_ends_after_requested_starts() -> None:
    assert single_arm_race({"mine": [1.0, 2.0]}, 3).next_arms == ("mine",)
    assert single_arm_race({"mine": [1.0, 2.0]}, 3).end is None
    done = single_arm_race({"mine": [1.0, 2.0, 3.0]}, 3)
    assert (done.end, done.next_arms) == (RaceEnd.MEASURED, ())
    failed = single_arm_race({"mine": []}, 3, ["mine"])
    assert (failed.end, failed.seats[0].state) == (RaceEnd.FAILED, ArmState.FAILED)


def test_measure_reports_means_per_workload() -> None:
    actual_ended_answer = ended_answer(PLAN, [standing(100.0, 102.0, 98.0), standing(10.0, 10.1, 9.9)], [])
    assert (actual_ended_answer["answer"], actual_ended_answer["winner"]) == ("measured", None)
    first, second = actual_ended_answer["workloads"]
    assert first["arms"][0]["mean"] == pytest.approx(math.prod([100.0, 102.0, 98.0]) ** (1 / 3))
    low, high = first["arms"][0]["mean_interval"]
    assert low < 98 and high > 102  # 4.30 standard errors of 1.2 %
    assert second["arms"][0]["ratio"] is None and second["reasons"] == []
    going = answer_of(PLAN, [standing(100.0, 102.0, 98.0), standing(10.0)])
    assert going["answer"] is None


def test_terminal_and_page_show_means_no_ratios() -> None:
    noted = PLAN.model_copy(update={"notes": ("gpu (line 3): here.",)})
    answer = ended_answer(noted, [standing(100.0, 102.0, 98.0), standing()], [])
    study = Study(id="s", title="t", question="measure", state="ended", created_at=utc_now(), updated_at=utc_now(),
                  plan=noted.model_dump(mode="json"), answer=answer)  # fmt: skip
    assert answer["reasons"][0] == "gpu (line 3): here." and answer["reasons"].count("gpu (line 3): here.") == 1
    done = ended_answer(PLAN, [standing(100.0, 102.0, 98.0)] * 2, [])
    study = study.model_copy(update={"answer": done})
    lines = as_text(study).splitlines()
    assert lines[0].startswith("The measurement is complete.") and lines[1] == "Under traffic, decode_tps: measured"
    assert lines[2].split("mine")[1].split() == ["99.99", "(95.14", "to", "105.1),", "0", "runs"]
    assert (headline(study), headers(PLAN)[3]) == ("The measurement is complete.", "Mean")
    assert "do not matter" not in describe_study(study, PLAN, 3)
    ((words, arms), _) = answer_tables(done)
    assert words == "Under traffic: by decode_tps."
    assert [cell for cell in table_rows(PLAN, arms)[0] if "99.99" in cell] and "measured" in table_rows(PLAN, arms)[0][
        1
    ]


def test_it_is_about_one_arm() -> None:
    two = FILE + '[[arm]]\nname = "other"\ncommand = "vllm serve OTHER --port 8000"\n'
    with pytest.raises(StudyFileError, match="'measure' needs exactly one arm"):
        study_of_text(two, "two")
    with pytest.raises(StudyFileError, match="'measure' has one arm"):
        read_added_arms(PLAN, [ArmText(name="b", command="vllm serve M")])
    with pytest.raises(StudyFileError, match="accuracy"):
        study_of_text(FILE.replace('"measure"', '"which"').replace("[budget]", 'objective = "accuracy"\n[budget]')
                      + '[[arm]]\nname = "b"\ncommand = "vllm serve M"\n', "w")  # fmt: skip
