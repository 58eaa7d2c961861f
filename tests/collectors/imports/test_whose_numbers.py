"""Whose number it is: what others list, claim or report, what is disowned and what is advised were not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.unread_lines import unread_note
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

OWN = "\n\n| Arm | decode (tok/s) |\n|---|---|\n| mine | 41.7 |\n"


@pytest.mark.parametrize(
    "sentence",
    [
        "The model with a draft was listed at 121 tokens per second, and the same with heads at 204 tokens per second.",
        "They claim 121 tok/s on one card and 204 tok/s on two cards.",
        "The leaderboard shows 121 tok/s for it, and 204 tok/s with heads.",
        "I expected 121 tok/s on one card, 204 tok/s on two.",
        "This page is no longer just a 121-204 t/s claim.",
        "It was a 121 t/s headline, 204 t/s claims aside.",
        "The plan: customer-reported baselines: A = 2.5 QPS, B = 1.5 QPS.",
    ],
)
def test_numbers_of_others_are_left_out_with_a_note(tmp_path: Path, sentence: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{sentence}{OWN}")
    assert [row.value for row in results_of(load)] == [41.7]
    numbers = ("2.5", "1.5") if "QPS" in sentence else ("121", "204")
    told = f"{load.notes} {unread_note(sentence, [load])}"
    assert all(number in told for number in numbers)


@pytest.mark.parametrize(
    "sentence",
    [
        "It was listed at 121 tok/s, but I get 61.3 tok/s here.",
        "The card is listed at 121 tok/s; we measured 61.3 tok/s.",
        "They claim 121 tok/s but it runs at 61.3 tok/s.",
        "They claim 121 tok/s on one card, and mine gives 61.3 tok/s.",
        "Against a leaderboard number of 121 tok/s it sits at 61.3 tok/s by my own measurement.",
    ],
)
def test_an_own_number_beside_that_of_others_is_read(tmp_path: Path, sentence: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{sentence}{OWN}")
    assert [row.value for row in results_of(load)] == [41.7, 61.3]


@pytest.mark.parametrize("head", ["Recommendation", "Why it matters", "Verdict", "Reason"])
def test_a_column_of_advice_has_no_results(tmp_path: Path, head: str) -> None:
    text = f"| Arm | Result | {head} |\n|---|---|---|\n| mine | 41.7 t/s | Keep 40-42 t/s as the honest limit. |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.value for row in results_of(load)] == [41.7]


@pytest.mark.parametrize("name", ["Leaderboard", "Listed", "Customer-reported"])
def test_a_column_of_what_others_state_is_left_out(tmp_path: Path, name: str) -> None:
    text = f"| Model | {name} tok/s | Measured tok/s |\n|---|---|---|\n| Tiny-9B | 121 | 41.7 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.value for row in results_of(load)] == [41.7]
    assert f"{name} tok/s" in str(load.notes)
