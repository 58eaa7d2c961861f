"""The question 'measure': one arm, started so many times; nothing is ranked."""

from __future__ import annotations

import math

import pytest

from analysis.study import ArmState, End, measured
from cli.results.study import as_text
from commands.study_change import arms_more
from commands.study_file import ArmText, StudyFileError, study_of_text
from domain import Study, utc_now
from reports.studies.study import StudyStanding
from studies.answer import answer_of, ended_answer
from web.study_pages.race_words import about, head, headers, parts, rows

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


def standing(*values: float) -> StudyStanding:
    return StudyStanding(measured({"mine": values}, 3), {"mine": values}, "decode_tps", {"mine": ()})


def test_it_ends_when_it_has_started_as_often_as_asked() -> None:
    assert measured({"mine": [1.0, 2.0]}, 3).next_arms == ("mine",)
    assert measured({"mine": [1.0, 2.0]}, 3).end is None
    done = measured({"mine": [1.0, 2.0, 3.0]}, 3)
    assert (done.end, done.next_arms) == (End.MEASURED, ())
    failed = measured({"mine": []}, 3, ["mine"])
    assert (failed.end, failed.seats[0].state) == (End.FAILED, ArmState.FAILED)


def test_it_answers_with_means_under_each_workload() -> None:
    told = ended_answer(PLAN, [standing(100.0, 102.0, 98.0), standing(10.0, 10.1, 9.9)], [])
    assert (told["answer"], told["winner"]) == ("measured", None)
    first, second = told["workloads"]
    assert first["arms"][0]["mean"] == pytest.approx(math.prod([100.0, 102.0, 98.0]) ** (1 / 3))
    low, high = first["arms"][0]["mean_interval"]
    assert low < 98 and high > 102  # 4.30 standard errors of 1.2 %
    assert second["arms"][0]["ratio"] is None and second["reasons"] == []
    going = answer_of(PLAN, [standing(100.0, 102.0, 98.0), standing(10.0)])
    assert going["answer"] is None


def test_the_terminal_and_the_page_show_means_and_no_ratios() -> None:
    noted = PLAN.model_copy(update={"notes": ("gpu (line 3): here.",)})
    answer = ended_answer(noted, [standing(100.0, 102.0, 98.0), standing()], [])
    study = Study(id="s", title="t", question="measure", state="ended", created_at=utc_now(), updated_at=utc_now(),
                  plan=noted.model_dump(mode="json"), answer=answer)  # fmt: skip
    assert answer["reasons"][0] == "gpu (line 3): here." and answer["reasons"].count("gpu (line 3): here.") == 1
    done = ended_answer(PLAN, [standing(100.0, 102.0, 98.0)] * 2, [])
    study = study.model_copy(update={"answer": done})
    lines = as_text(study).splitlines()
    assert lines[0].startswith("It is measured.") and lines[1] == "Under traffic, decode_tps: measured"
    assert lines[2].split("mine")[1].split() == ["99.99", "(95.14", "to", "105.1),", "0", "runs"]
    assert (head(study), headers(PLAN)[3]) == ("It is measured.", "Mean")
    assert "do not matter" not in about(study, PLAN, 3)
    ((words, arms), _) = parts(done)
    assert words == "Under traffic: by decode_tps."
    assert [cell for cell in rows(PLAN, arms)[0] if "99.99" in cell] and "measured" in rows(PLAN, arms)[0][1]


def test_it_is_about_one_arm() -> None:
    two = FILE + '[[arm]]\nname = "other"\ncommand = "vllm serve OTHER --port 8000"\n'
    with pytest.raises(StudyFileError, match="'measure' takes one arm"):
        study_of_text(two, "two")
    with pytest.raises(StudyFileError, match="'measure' is about one arm"):
        arms_more(PLAN, [ArmText(name="b", command="vllm serve M")])
    with pytest.raises(StudyFileError, match="accuracy"):
        study_of_text(FILE.replace('"measure"', '"which"').replace("[budget]", 'objective = "accuracy"\n[budget]')
                      + '[[arm]]\nname = "b"\ncommand = "vllm serve M"\n', "w")  # fmt: skip
