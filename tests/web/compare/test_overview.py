"""The sentence and the chart over all arms: they claim what the pairs claim, whichever arm is the baseline."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm
from analysis.verdict import VerdictAnswer
from tests.analysis.comparison.hand_made import arm, faster, load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.answer_cards import answer_cards
from web.compare.answer.dots import page_span, position_percent
from web.compare.answer.overview import TICK_DISTANCE_PERCENT, arm_strips, overview_sentence, ticks_of


@pytest.mark.parametrize("span", [math.log(1.1), math.log(1.5), math.log(2.6), math.log(12.0)])
def test_scale_has_labels_that_do_not_meet(span: float) -> None:
    ticks = ticks_of(span)
    places = [position_percent(tick, span) for tick in ticks]
    assert 1.0 in ticks and len(ticks) >= 3
    assert all(later - earlier >= TICK_DISTANCE_PERCENT for earlier, later in itertools.pairwise(places))
    assert places[0] >= 0 and places[-1] <= 100 and not re.search(r"\s", "".join(map(str, ticks)))


def arm_of(name: str, speeds: tuple[float, ...], **settings: Any) -> Arm:
    """An arm of one run for each speed, relative to that of `streams`."""
    served = replace(SERVED, settings=settings)
    runs = [
        replace(run(f"{name}{number}", load(faster(streams(8), speed)), served=served), name=f"{name} #{number}")
        for number, speed in enumerate(speeds, start=1)
    ]
    return arm(*runs)


SLOW = arm_of("plain", (1.0, 1.01, 0.99), k=0)
FAST = arm_of("draft", (1.5, 1.51, 1.49), k=4)
WIDE = arm_of("ngram", (0.9, 1.3, 1.05), k=9)
MODEL = replace(SERVED, model="another/model")


@pytest.mark.parametrize(
    ("arms", "sentence"),
    [
        ((SLOW, FAST), r"draft is 1\.50× as fast as plain \(1\.4\d× to 1\.5\d×\)\."),
        ((SLOW, WIDE, FAST), r"draft is 1\.50× as fast as plain \(1\.4\d× to 1\.5\d×\); ngram: not known yet\."),
        ((FAST, SLOW), r"draft is the fastest of these 2 arms: plain: 0\.67× \(0\.6\d× to 0\.6\d×\)\."),
        ((FAST, SLOW, WIDE), r"No arm is known to be better than draft in .*: .*plain: 0\.67× \(.*\).*"),
        ((SLOW, WIDE), r"No arm is known to be better than plain in .*: ngram: not known yet\."),
    ],
)
def test_sentence_claims_what_the_pairs_claim(arms: tuple[Arm, ...], sentence: str) -> None:
    assert re.fullmatch(sentence, overview_sentence(compare_arms(arms))), overview_sentence(compare_arms(arms))


def test_largest_ratio_that_is_not_known_hides_no_claim() -> None:
    wild = arm_of("wild", (1.1, 2.9, 1.9), k=7)
    sentence = overview_sentence(compare_arms([SLOW, wild, FAST]))
    assert re.fullmatch(r"draft is 1\.50× as fast as plain \(.*\); wild: not known yet\.", sentence), sentence


@pytest.mark.parametrize(
    ("ratio", "sentence"),
    [
        (1.4, r"draft is better than plain in .*, by an uncertain amount \(.*\); ngram: not known yet\."),
        (0.7, r"No arm is known to be better than plain in .*draft: worse, by an uncertain amount.*"),
    ],
)
def test_difference_of_uncertain_size_is_no_unknown(ratio: float, sentence: str) -> None:
    answers = [
        replace(answer, judgement=replace(answer.judgement, answer=VerdictAnswer.DIFFERENT, ratio=ratio))
        if answer.pair.contender is FAST and answer.judgement
        else answer
        for answer in compare_arms([SLOW, WIDE, FAST])
    ]
    assert re.fullmatch(sentence, overview_sentence(answers)), overview_sentence(answers)


def test_arms_refused_for_the_same_reason_share_a_card() -> None:
    arms = [arm(run(name, load(streams(4)), served=MODEL)) for name in ("x", "y")]
    separate = [replace(other, key=other.id) for other in arms]
    answers = compare_arms([SLOW, *separate])
    names = {run_facts.run_id: run_facts.name for one_arm in (SLOW, *separate) for run_facts in one_arm.runs}
    colors = {name: index for index, name in enumerate((SLOW.id, "x", "y"))}
    cards = answer_cards(answers, names, colors, page_span(answers))
    assert cards.count("<section") == 1 and "x and y are not ranked against plain: " in cards
    assert overview_sentence(answers) == "No arm is ranked against plain: x and y: not ranked."


def test_chart_has_a_row_an_arm_and_one_scale() -> None:
    answers = compare_arms([SLOW, FAST, WIDE])
    chart = arm_strips(answers, {SLOW.id: 0, FAST.id: 1, WIDE.id: 2}, page_span(answers))
    assert re.findall(r"<dt>(\w+)</dt>", chart) == ["plain", "draft", "ngram"]
    assert chart.count('class="pw-scale"') == 1 and chart.count("pw-dot") == 9
