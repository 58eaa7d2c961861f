"""Repetition: always seen in exact loops, never in clean text."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.runs.collapse import find_collapse, tail_period
from demo.vocabulary import WORDS

MODULES = (argparse, ast, inspect, json, random)


def clean_words(seed: int, count: int) -> list[str]:
    """Words in an order that has no period: every draw is a new one from a few hundred."""
    return random.Random(seed).choices(WORDS, k=count)


@given(seed=st.integers(0, 10**9), count=st.integers(0, 1500))
@settings(max_examples=60)
def test_clean_text_gives_no_alarm(seed: int, count: int) -> None:
    collapse = find_collapse(" ".join(clean_words(seed, count)))
    assert (collapse.verdict, collapse.looped_words, collapse.has_low_variety) == ("none", 0, False)
    assert collapse.words == count


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_real_code_and_json_give_no_alarm(module: object) -> None:
    source = inspect.getsource(module)  # type: ignore[arg-type]
    assert find_collapse(source).verdict == "none"
    rows = [{"id": n, "name": line.strip()[:20], "laps": [n, n * 7 % 13]} for n, line in enumerate(source.splitlines())]
    assert find_collapse(json.dumps(rows[:200], indent=2)).verdict == "none"


@given(
    seed=st.integers(0, 10**9),
    before=st.integers(0, 600),
    unit=st.lists(st.sampled_from(WORDS), min_size=1, max_size=128),
    extra=st.integers(0, 300),
)
@settings(max_examples=120)
def test_an_exact_loop_at_the_end_is_always_seen(seed: int, before: int, unit: list[str], extra: int) -> None:
    looped = max(3 * len(unit), 48) + extra
    words = clean_words(seed, before) + (unit * looped)[:looped]
    collapse = find_collapse(" ".join(words))
    assert collapse.verdict == "collapsed"
    assert collapse.onset_word is not None and collapse.onset_word <= before
    assert collapse.period_words is not None and collapse.period_words <= len(unit)
    assert collapse.looped_words >= looped


def test_onset_period_and_sample_are_told() -> None:
    unit = ["box", "box", "box", "this", "lap"]
    words = [f"word{n}" for n in range(200)] + unit * 30
    collapse = find_collapse(" ".join(words))
    assert (collapse.onset_word, collapse.period_words, collapse.looped_words) == (200, 5, 150)
    assert collapse.sample == "box box box this lap"
    fields = collapse.as_json(completion_tokens=700)
    assert (fields["onset_token"], fields["looped_ratio"]) == (400, 0.4286)
    assert collapse.as_json(None)["onset_token"] is None


def test_a_loop_that_ends_is_transient() -> None:
    words = clean_words(1, 300) + ["round", "and", "round"] * 40 + clean_words(2, 300)
    collapse = find_collapse(" ".join(words))
    assert (collapse.verdict, collapse.period_words) == ("transient", 3)
    assert 100 <= collapse.looped_words <= 125


def test_two_copies_are_no_loop() -> None:
    paragraph = clean_words(3, 200)
    assert find_collapse(" ".join(paragraph * 2)).verdict == "none"


@pytest.mark.parametrize("unit", ["ha", "abc", "lorem-ipsum", "的", "好的。"])
def test_loops_without_spaces_are_seen(unit: str) -> None:
    assert find_collapse("It began well. " + unit * 800).verdict == "collapsed"


def test_random_mix_of_phrases_is_a_near_loop() -> None:
    phrases = ["the tyres are still cold", "box now for the hard", "we wait for the rain"]
    text = " ".join(random.Random(5).choices(phrases, k=120))
    collapse = find_collapse(text)
    assert (collapse.verdict, collapse.period_words, collapse.has_low_variety) == ("collapsed", None, True)


def test_near_loops_allowed_in_structured_text() -> None:
    draw = random.Random(6)
    rows = [f"| {draw.choice('abc')} | soft | {draw.choice('abc')} |" for _ in range(200)]
    assert find_collapse("\n".join(rows)).verdict == "none"
    assert find_collapse("```\n" + "\n".join(row.strip("| ") for row in rows) + "\n```").verdict == "none"
    assert find_collapse("\n".join(["| a | soft | b |"] * 60)).verdict == "collapsed"


@given(st.text(max_size=400))
@settings(max_examples=100)
def test_any_text_is_judged(text: str) -> None:
    assert find_collapse(text).verdict in ("none", "transient", "collapsed")


@given(st.lists(st.sampled_from("ab"), max_size=300))
@settings(max_examples=200)
def test_tail_period_is_the_smallest_fit(tail: list[str]) -> None:
    def fits(period: int) -> bool:
        length = max(3 * period, 48)
        end = tail[-length:]
        return len(end) == length and all(a == b for a, b in zip(end, end[period:], strict=False))

    assert tail_period(tail) == next((period for period in range(1, 129) if fits(period)), None)
