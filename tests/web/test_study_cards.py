"""A study's race as a grid of its starts, and its answer as a card."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from commands.study_file import StudyPlan, study_of_text
from domain import Run, RunState, Study, utc_now
from tests.studies.test_study_file import WHICH
from web.study_pages.answer_card import answer_card, answer_sentence_of
from web.study_pages.race_grid import colors_of_arms, race_grid, values_by_run
from web.study_pages.race_words import answer_tables

NOW = utc_now()
PLAN = study_of_text(WHICH, "w")
ARMS: list[dict[str, Any]] = [
    {"name": "a", "runs": 3, "state": "out", "ratio": 1.0, "interval": [1.0, 1.0], "values": [100.0, 101.0, 99.0],
     "cause": None, "predicted": None},
    {"name": "b", "runs": 3, "state": "racing", "ratio": 1.2, "interval": [1.15, 1.25], "values": [120.0, 119.0, 121.0],
     "cause": None, "predicted": None},
]  # fmt: skip
ANSWER: dict[str, Any] = {"answer": "winner", "winner": "b", "leader": "b", "objective": "decode_tps", "arms": ARMS}


def run_of(arm: str, number: int, state: RunState = RunState.FINISHED, **more: Any) -> Run:
    return Run(
        id=f"{arm}{number}", name=f"{arm} #{number}", color=0, machine_id="m", created_at=NOW, arm=arm, round=number,
        config=PLAN.arms[0].config if arm == "a" else PLAN.arms[1].config, state=state, started_at=NOW,
        ended_at=NOW + timedelta(minutes=1) if state.is_final else None, **more,
    )  # fmt: skip


def rounds(count: int) -> list[Run]:
    return [run_of(arm, number) for number in range(1, count + 1) for arm in ("a", "b")]


def study(answer: dict[str, Any], plan: StudyPlan = PLAN) -> Study:
    return Study(
        id="s", title="t", question=plan.question, state="ended", created_at=NOW, updated_at=NOW,
        plan=plan.model_dump(mode="json"), answer=answer,
    )  # fmt: skip


def cells_of(html: str, arm: str) -> list[str]:
    (row,) = [row for row in html.split("<tr") if f">{arm}</span>" in row]
    return re.findall(r"<td[^>]*>(.*?)</td>", row)


def grid(runs: list[Run], answer: dict[str, Any] = ANSWER) -> str:
    return race_grid(PLAN, answer, answer_tables(answer)[0][1], runs)


def test_each_start_is_a_cell_with_its_value() -> None:
    html = grid(rounds(3))
    assert [cell.partition("<")[0] for cell in cells_of(html, "b")] == ["120", "119", "121"]
    assert html.count("Round ") == 3
    strips = ["pw-interval" in cell for cell in cells_of(html, "b")]
    assert strips == [False, True, True] and "1.150x to 1.250x of the first arm" in html, "the answer's own at the end"
    assert not any("pw-interval" in cell for cell in cells_of(html, "a")), (
        "the first arm is what the others are held to"
    )


def test_running_and_failed_starts_are_marked() -> None:
    now = [run_of("a", 4, RunState.STARTING, phase="loading weights 34 %"), run_of("b", 4, RunState.QUEUED)]
    html = grid([*rounds(3), *now])
    assert "pw-race-now" in html and "loading weights 34 %" in cells_of(html, "a")[3]
    assert cells_of(html, "b")[3] == "queued"
    html = grid([run_of("a", 1, RunState.FAILED, cause="<no> GPU")], {})
    assert "pw-state-failed" in html and "&lt;no&gt; GPU" in html and cells_of(html, "b") == ["", ""]
    assert grid([], {}) == "", "nothing has started"


def test_starts_get_values_only_if_their_order_is_certain() -> None:
    runs = [run_of("a", 1), run_of("a", 2, RunState.FAILED), run_of("a", 3), run_of("a", 4)]
    arm = {"runs": 3, "values": [100.0, 99.0]}
    assert values_by_run(arm, runs) == {"a1": 100.0, "a3": 99.0}, "the fourth is not in the answer yet"
    assert values_by_run(arm | {"values": [100.0]}, runs) == {}


@pytest.mark.parametrize(
    ("winner", "sentence"),
    [
        ("b", "b is best: 1.20x a (1.15x to 1.25x)."),
        ("a", "a is best: b has 1.20x a (1.15x to 1.25x)."),
        (None, "Not known yet."),
    ],
)
def test_card_says_by_how_much(winner: str | None, sentence: str) -> None:
    answer = ANSWER | {"winner": winner, "answer": "winner" if winner else "unknown"}
    arms = answer_tables(answer)[0][1]
    assert answer_sentence_of(study(answer), arms) == sentence
    html = answer_card(study(answer), PLAN, arms, colors_of_arms(PLAN, rounds(2)), ["3 <b>"])
    assert sentence in html and ("pw-refused" in html) == (winner is None) and "3 &lt;b&gt;" in html
    assert html.count('pw-strip"') == 2 and html.count("pw-dot") == 6


def test_dots_of_a_time_lie_on_the_side_of_the_ratio() -> None:
    times = [arm | {"values": [v / arm["ratio"] ** 2 for v in arm["values"]]} for arm in ARMS]
    arms = answer_tables(ANSWER | {"objective": "ttft_ms@1", "arms": times})[0][1]
    html = answer_card(study(ANSWER), PLAN, arms, {}, [])
    dots = [float(match) for match in re.findall(r'pw-dot" style="left:([\d.]+)%', html)]
    assert min(dots[3:]) > max(dots[:3]), "fewer ms are better, and better lies to the right"
