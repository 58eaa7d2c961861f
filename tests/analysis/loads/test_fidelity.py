"""Agreement, divergence and greedy answers of two servers, by hand-made positions whose truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pytest

from analysis.loads.clustered_share import TextCount, difference_of_shares, share_of
from analysis.loads.fidelity import (
    Fidelity,
    FidelityAnswer,
    FidelityLoad,
    PositionPair,
    build_fidelity_loads,
    compare_fidelity,
    divergence_bound,
    first_difference,
)
from benchmarks.simulations.fidelity_simulation import Truth, simulate
from load_records import GREEDY, NEXT_TOKEN, FidelityPosition
from reasons import Code, Reason

NOW = datetime(2026, 11, 27, tzinfo=UTC)
TEXTS, PER_TEXT = 40, 32


def position(
    load_id: str,
    text: int = 0,
    prefix: int = 400,
    ids: tuple[int, ...] = (1, 2),
    part: str = NEXT_TOKEN,
    **more: object,
) -> FidelityPosition:
    logprobs = [] if part == GREEDY else [math.log(share) for share in (0.7, 0.2, 0.05)][: len(ids)]
    fields = {"prefix_hash": f"hash {prefix}", "logprobs": logprobs, "cached_tokens": prefix - 1} | more
    return FidelityPosition(
        f"run {load_id}", load_id, NOW, part, "prose", f"prose {text:02d}", 512, prefix,
        token_ids=list(ids), **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def load(load_id: str, changed_share: float = 0.0, seed: int = 0) -> FidelityLoad:
    """A load whose first choice is another one at this share of the positions."""
    chance = random.Random(seed)
    rows = (
        position(load_id, text, 300 + n, (2, 1) if chance.random() < changed_share else (1, 2))
        for text, n in product(range(TEXTS), range(PER_TEXT))
    )
    (fidelity_load,) = build_fidelity_loads(rows)
    return fidelity_load


def compared(*fidelity_load: FidelityLoad, floor: float | None = 0.0) -> Fidelity:
    references = [load("a")] + ([] if floor is None else [load("a2", floor, seed=1)])
    fidelity = compare_fidelity(references, fidelity_load)
    assert isinstance(fidelity, Fidelity)
    return fidelity


def test_equal_answers_are_the_same_within_a_point() -> None:
    fidelity = compared(load("b"))
    assert (fidelity.agreement.value, fidelity.answer) == (1.0, FidelityAnswer.SAME)
    assert fidelity.loss is not None and fidelity.loss.high is not None and 0 < fidelity.loss.high < 0.01
    assert fidelity.recomputed_ratio == pytest.approx(1 / 315.5)


def test_answers_differ_only_beyond_the_references_own_floor() -> None:
    assert compared(load("b", 0.03, seed=2)).answer is FidelityAnswer.DIFFERS
    noisy = compared(load("b", 0.03, seed=2), floor=0.03)
    assert noisy.answer is FidelityAnswer.UNDECIDED
    assert noisy.floor is not None and noisy.floor.value == pytest.approx(0.97, abs=0.01)


def test_few_differences_are_not_called_different() -> None:
    fidelity = compared(load("b", 0.002, seed=4))
    assert fidelity.loss is not None and fidelity.loss.low is not None
    assert fidelity.loss.low < 0 < fidelity.loss.value
    assert fidelity.answer is not FidelityAnswer.DIFFERS


def test_without_a_second_start_nothing_is_decided() -> None:
    assert compared(load("b", 0.3), floor=None).answer is FidelityAnswer.NO_FLOOR


def test_starts_of_an_arm_are_one_measurement_of_its_positions() -> None:
    once = compared(load("b", 0.05, seed=3))
    twice = compared(load("b", 0.05, seed=3), load("b2", 0.05, seed=3))
    assert once.agreement == twice.agreement


def test_other_tokenizer_and_missing_loads_are_refused() -> None:
    (other_fidelity_load,) = build_fidelity_loads([position("b", prefix_hash="another")])
    assert compare_fidelity([load("a")], []) == Reason(Code.NO_FIDELITY)
    (reference,) = build_fidelity_loads([position("a")])
    assert compare_fidelity([reference], [other_fidelity_load]) == Reason(Code.OTHER_TOKENIZER)
    (elsewhere,) = build_fidelity_loads([position("b", prefix=9)])
    assert compare_fidelity([reference], [elsewhere]) == Reason(Code.NO_SHARED_POSITIONS)


def test_divergence_is_bound_from_below_by_shared_tokens() -> None:
    truth, other = [0.7, 0.2, 0.06, 0.04], [0.5, 0.2, 0.1, 0.2]
    exact = sum(p * math.log(p / q) for p, q in zip(truth, other, strict=True))

    def listed(load_id: str, shares: list[float], ids: tuple[int, ...]) -> FidelityPosition:
        return position(load_id, ids=ids, logprobs=[math.log(shares[token]) for token in ids])

    whole = divergence_bound(PositionPair(listed("a", truth, (0, 1, 2, 3)), listed("b", other, (0, 1, 2, 3))))
    top = divergence_bound(PositionPair(listed("a", truth, (0, 1)), listed("b", other, (0, 3))))
    assert whole == pytest.approx(exact)
    assert top == pytest.approx(0.7 * math.log(0.7 / 0.5) + 0.3 * math.log(0.3 / 0.5))
    assert 0 < top < exact


@pytest.mark.parametrize(("other", "index"), [((1, 2, 3), None), ((1, 9, 3), 1), ((9, 2, 3), 0), ((1, 2), None)])
def test_greedy_answers_differ_from_a_token_on(other: tuple[int, ...], index: int | None) -> None:
    pair = PositionPair(position("a", ids=(1, 2, 3), part=GREEDY), position("b", ids=other, part=GREEDY))
    assert first_difference(pair) == index


def correlated_counts(chance: random.Random, rate: float, correlation: float) -> Iterator[int]:
    """Counts of texts whose own rates vary, so that positions of a text are correlated."""
    a, b = (share * (1 - correlation) / correlation for share in (rate, 1 - rate))
    for _ in range(TEXTS):
        own_rate = chance.betavariate(a, b)
        yield sum(chance.random() < own_rate for _ in range(PER_TEXT))


def test_interval_covers_a_true_loss_with_correlated_positions() -> None:
    chance, covered, detected, trials = random.Random(5), 0, 0, 200
    for _ in range(trials):
        floor = list(correlated_counts(chance, 0.004, 0.05))
        loss = [
            min(PER_TEXT, a + b)
            for a, b in zip(correlated_counts(chance, 0.004, 0.05), correlated_counts(chance, 0.02, 0.05), strict=True)
        ]
        first, second = ({f"{n}": TextCount(PER_TEXT - c, PER_TEXT) for n, c in enumerate(c)} for c in (loss, floor))
        estimate = difference_of_shares(first, second)
        assert estimate and estimate.low is not None and estimate.high is not None
        covered += estimate.low <= 0.02 <= estimate.high
        detected += estimate.low > 0
    assert covered / trials >= 0.92  # 200 trials; benchmarks/simulations has many
    assert detected / trials >= 0.8


@pytest.mark.wide
@pytest.mark.parametrize(
    "truth", [Truth(40, 32, 0.02, 0.0, 0.1), Truth(40, 32, 0.004, 0.02, 0.1), Truth(40, 8, 0.001, 0.0, 0.1)]
)
def test_intervals_cover_where_few_texts_have_most_of_the_changes(truth: Truth) -> None:
    outcome = simulate(truth, 4000)
    assert outcome.covered >= 0.94 and outcome.agreement_covered >= 0.94
    assert outcome.worse <= 0.05 if truth.loss == 0 else outcome.worse >= 0.8


def test_few_texts_with_all_changes_have_a_wider_interval() -> None:
    def width(changes: list[int]) -> float:
        share = share_of({str(text): TextCount(32 - n, 32) for text, n in enumerate(changes)})
        assert share is not None and share.low is not None and share.high is not None
        return share.high - share.low

    spread, gathered = [1] * 16 + [0] * 24, [16] + [0] * 39
    assert width(gathered) > 2 * width(spread)


def test_few_texts_have_no_interval() -> None:
    share = share_of({"a": TextCount(8, 8), "b": TextCount(7, 8)})
    assert share is not None
    assert (share.value, share.low) == (15 / 16, None)
