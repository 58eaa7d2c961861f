"""The sentence of every answer, in words that can be read aloud."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from tests.analysis.comparison.hand_made import arm as hand_arm
from tests.analysis.comparison.hand_made import faster, load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.sentence import answer_sentence, detail
from web.compare.answer.short_answer import short_answer


def arm(name: str, *startups_s: float) -> Arm:
    runs = tuple(RunFacts(f"{name}-{n}", f"{name} #{n}", SERVED, startup_s=s) for n, s in enumerate(startups_s))
    return Arm(arm_key(runs[0]), runs)


def answer(a: Arm, b: Arm, objective: str = "startup_s") -> ArmComparison:
    return compare_arms([a, b], parse_objective(objective))[0]


STEADY = (10.0, 10.05, 9.95)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((20.0, 20.1, 19.9), "The time to ready of B is 2.00× that of A, which is worse."),
        ((5.0, 5.02, 4.98), "The time to ready of B is 0.50× that of A, which is better."),
        ((10.0, 10.03, 9.97), "B and A are the same in time to ready within 2 %: 0.99"),
        ((8.0, 14.0, 11.0), "It is not yet known whether B differs from A by 2 % or more: 1.07× seen,"),
        ((10.25, 10.3, 10.35), "B is worse than A in time to ready; the size of the difference is uncertain: 1.0"),
        ((20.0,), "The time to ready of B was seen at 2.00× that of A, 1 start against 3 starts: too few to claim it."),
    ],
)
def test_each_answer_has_its_sentence(other: tuple[float, ...], said: str) -> None:
    actual_answer = answer(arm("A", *STEADY), arm("B", *other))
    assert answer_sentence(actual_answer, {}).startswith(said), answer_sentence(actual_answer, {})
    actual_detail = detail(actual_answer)
    assert actual_detail and f"{len(other)} start" in actual_detail


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([(5.0, 5.02, 4.98)], "B 0.50× A in time to ready"),
        ([(20.0, 20.1, 19.9)], "B 2.00× A in time to ready"),
        ([(10.0, 10.03, 9.97)], "B and A are the same within 2 %"),
        ([(10.25, 10.3, 10.35)], "B and A differ; the size of the difference is uncertain"),
        ([(8.0, 14.0, 11.0)], "it is not yet known whether B and A differ"),
        ([(20.0,)], "B 2.00× A in time to ready, too few starts to claim it"),
        ([(8.0, 8.02, 7.98), (20.0, 20.1, 19.9), (5.0, 5.02, 4.98), (2.0,)], "D 0.50× A in time to ready"),
        ([(20.0, 20.1, 19.9), (30.0, 30.1, 29.9)], "no arm is better than A"),
        ([(20.0, 20.1, 19.9), (8.0, 14.0, 11.0)], "compare them"),
        ([], "compare them"),
    ],
)
def test_a_link_to_the_comparison_says_its_answer(values: list[tuple[float, ...]], said: str) -> None:
    arms = [arm("A", *STEADY), *(arm(name, *value) for name, value in zip("BCDE", values, strict=False))]
    assert short_answer(compare_arms(arms, parse_objective("startup_s")) if values else []) == said


@pytest.mark.parametrize("objective", ["prompt_tps@1", "request_tps@1"])
def test_only_output_speeds_are_called_fast(objective: str) -> None:
    """An arm with the faster prefill is not as fast as that, and its cause is no factor of decoding."""
    slow, quick = (
        hand_arm(*(run(f"{times}-{n}", load(faster(streams(3), times + n / 1000))) for n in range(3)))
        for times in (1.0, 2.0)
    )
    text = answer_sentence(answer(slow, quick, objective), {})
    assert "as fast as" not in text and "cause" not in text, text
    assert text.startswith(f"The {parse_objective(objective).terms.title} of "), text


def test_a_link_to_what_is_not_ranked_says_so() -> None:
    nothing = RunFacts("C-0", "C", SERVED)
    assert short_answer([answer(arm("A", *STEADY), Arm(arm_key(nothing), (nothing,)))]) == "compare them"
    other_facts = RunFacts("B-0", "B", replace(SERVED, model="org/other"), startup_s=5.0)
    refused = answer(arm("A", *STEADY), Arm(arm_key(other_facts), (other_facts,)))
    assert refused.refused and short_answer([refused]) == "B is not ranked against A"


def test_missing_value_states_its_reason() -> None:
    nothing = RunFacts("C-0", "C", SERVED)
    actual_answer = answer(arm("A", *STEADY), Arm(arm_key(nothing), (nothing,)))
    assert answer_sentence(actual_answer, {}) == (
        "C cannot be compared with A: Pitwall did not start this server, or it never became ready."
    )
    assert detail(actual_answer) is None


def test_equally_looping_arms_rank_useful_speed() -> None:
    """10 and 20 tok/s, of which half is of use."""

    def looping(share: float, times: float, **asked: object) -> Arm:
        extra = {"first_chunk_tokens": 1, "cached_prompt_tokens": 0, "collapse": {"looped_ratio": share}}
        return hand_arm(
            *(run(f"{times}-{n}", load(faster(streams(3, extra=extra, **asked), times + n / 1000))) for n in range(3))
        )

    alike = answer(looping(0.5, 1.0), looping(0.52, 2.0), "decode_tps")
    actual_answer_sentence = answer_sentence(alike, {})
    assert alike.is_ranked and " is 2.00× as fast as " in actual_answer_sentence
    assert actual_answer_sentence.endswith("50 % and 52 % of the text is looping; useful 5.00 and 9.60 tok/s."), (
        actual_answer_sentence
    )
    past = answer(
        looping(0.5, 1.0, sampling={"ignore_eos": True}), looping(0.5, 2.0, sampling={"ignore_eos": True}), "decode_tps"
    )
    assert answer_sentence(past, {}).endswith("in text generated past the answer's end on request.")
    waiting = answer(looping(0.5, 1.0), looping(0.5, 2.0), "ttft_ms@1")
    assert "useful" not in answer_sentence(waiting, {}) and "is looping" in answer_sentence(waiting, {})
