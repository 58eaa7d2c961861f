"""Agreement of an arm's answers with those of a reference, beside the agreement of the reference with itself.

Pure functions of the positions of fidelity loads. docs/answers/fidelity.md defines every number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from statistics import fmean, median
from typing import NamedTuple

from analysis.loads.clustered_share import (
    CountsByText,
    TextCount,
    TextEstimate,
    difference_of_shares,
    mean_of_texts,
    share_of,
)
from load_records import GREEDY, NEXT_TOKEN, FidelityPosition
from reasons import Code, Reason

MARGIN = 0.01  # difference of agreement from which answers count as different: 1 point
LEAST_REST = 1e-6  # probability of all tokens that are not among the shared ones: log-probabilities are rounded


class PositionKey(NamedTuple):
    """What pairs two positions of two loads."""

    part: str
    text_name: str
    depth_tokens: int
    prefix_tokens: int


class PositionPair(NamedTuple):
    """The answers of the reference and of another server after one prefix."""

    reference: FidelityPosition
    other: FidelityPosition


class FidelityAnswer(StrEnum):
    """Whether an arm answers as the reference does."""

    DIFFERS = "differs"  # by more than the reference differs from itself
    SAME = "same"  # within the margin of the reference's own floor
    UNDECIDED = "undecided"
    NO_FLOOR = "no_floor"  # the reference was measured on one start alone


@dataclass(frozen=True, slots=True, eq=False)
class FidelityLoad:
    """The positions of one load of a server start; equal only to itself."""

    run_id: str
    load_id: str
    positions: Mapping[PositionKey, FidelityPosition]


@dataclass(frozen=True, slots=True)
class AgreementPart:
    """Agreement at one depth, or on one kind of text, with the reference's floor there."""

    label: str
    agreement: TextEstimate
    floor: TextEstimate | None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """An arm's answers against a reference's. Shares are 0..1; the floor is the reference against itself."""

    agreement: TextEstimate  # share of positions with the reference's first choice
    floor: TextEstimate | None
    loss: TextEstimate | None  # floor minus agreement, over the same texts
    divergence_nats: TextEstimate  # lower bound of KL(reference || arm), mean over positions
    floor_divergence_nats: TextEstimate | None
    text_logprob_change: TextEstimate | None  # of the text's own next token, arm minus reference, where both list it
    unchanged_greedy: TextEstimate | None  # share of greedy answers equal to the reference's
    floor_unchanged_greedy: TextEstimate | None
    first_difference_token: float | None  # median over the changed greedy answers, from 0
    recomputed_ratio: float | None  # of the prefix tokens, in the arm's load
    by_depth: tuple[AgreementPart, ...]
    by_kind: tuple[AgreementPart, ...]
    margin: float = MARGIN

    @property
    def answer(self) -> FidelityAnswer:
        """Whether the loss is beyond the floor: from 0 for a difference, below the margin for sameness."""
        if self.floor is None or self.loss is None:
            return FidelityAnswer.NO_FLOOR
        if self.loss.low is None or self.loss.high is None:
            return FidelityAnswer.UNDECIDED
        if self.loss.low > 0:
            return FidelityAnswer.DIFFERS
        return FidelityAnswer.SAME if self.loss.high < self.margin else FidelityAnswer.UNDECIDED


def build_fidelity_loads(positions: Iterable[FidelityPosition]) -> list[FidelityLoad]:
    """Return one load per load id, in the order of their first positions."""
    by_load: dict[tuple[str, str], dict[PositionKey, FidelityPosition]] = {}
    for position in positions:
        by_load.setdefault((position.run_id, position.load_id), {})[key_of_position(position)] = position
    return [FidelityLoad(run_id, load_id, keyed) for (run_id, load_id), keyed in by_load.items()]


def key_of_position(position: FidelityPosition) -> PositionKey:
    """Return what pairs this position with another load's."""
    return PositionKey(position.part, position.text_name, position.depth_tokens, position.prefix_tokens)


def compare_fidelity(
    references: Sequence[FidelityLoad], arm_loads: Sequence[FidelityLoad], margin: float = MARGIN
) -> Fidelity | Reason:
    """Compare the loads of an arm with those of the reference, each of another server start, or say why not.

    The first load of the reference is what all are compared with; its further ones give the floor.
    """
    if not references or not arm_loads:
        return Reason(Code.NO_FIDELITY)
    reference, *repeats = references
    pairs, floor_pairs = _pairs(reference, arm_loads), _pairs(reference, repeats)
    next_tokens = [pair for pair in pairs if pair.reference.part == NEXT_TOKEN]
    if not next_tokens:
        return Reason(Code.NO_SHARED_POSITIONS)
    if any(pair.reference.prefix_hash != pair.other.prefix_hash for pair in pairs):
        return Reason(Code.OTHER_TOKENIZER)
    same_floor = [pair for pair in floor_pairs if pair.reference.prefix_hash == pair.other.prefix_hash]
    return _fidelity(next_tokens, pairs, same_floor, arm_loads, margin)


def _pairs(reference: FidelityLoad, arm_loads: Sequence[FidelityLoad]) -> list[PositionPair]:
    return [
        PositionPair(reference.positions[key], position)
        for load in arm_loads
        for key, position in load.positions.items()
        if key in reference.positions
    ]


def _fidelity(
    next_tokens: Sequence[PositionPair],
    pairs: Sequence[PositionPair],
    floor_pairs: Sequence[PositionPair],
    arm_loads: Sequence[FidelityLoad],
    margin: float,
) -> Fidelity:
    floor_next = [pair for pair in floor_pairs if pair.reference.part == NEXT_TOKEN]
    greedy, floor_greedy = ([pair for pair in group if pair.reference.part == GREEDY] for group in (pairs, floor_pairs))
    agreement, divergence = share_of(_counts(next_tokens, has_same_choice)), _mean(next_tokens, divergence_bound)
    assert agreement is not None and divergence is not None
    differences = [index for pair in greedy if (index := first_difference(pair)) is not None]
    return Fidelity(
        agreement=agreement,
        floor=share_of(_counts(floor_next, has_same_choice)),
        loss=difference_of_shares(_counts(next_tokens, has_same_choice), _counts(floor_next, has_same_choice)),
        divergence_nats=divergence,
        floor_divergence_nats=_mean(floor_next, divergence_bound),
        text_logprob_change=_mean(next_tokens, text_logprob_change),
        unchanged_greedy=share_of(_counts(greedy, has_same_tokens)),
        floor_unchanged_greedy=share_of(_counts(floor_greedy, has_same_tokens)),
        first_difference_token=median(differences) if differences else None,
        recomputed_ratio=recomputed_ratio(arm_loads),
        by_depth=tuple(_parts(next_tokens, floor_next, lambda position: f"{position.depth_tokens:,} tokens")),
        by_kind=tuple(_parts(next_tokens, floor_next, lambda position: position.text_kind)),
        margin=margin,
    )


def has_same_choice(pair: PositionPair) -> bool:
    """Whether both servers have the same most likely token."""
    return pair.reference.token_ids[:1] == pair.other.token_ids[:1]


def has_same_tokens(pair: PositionPair) -> bool:
    """Whether both greedy answers are equal, as far as both go."""
    return first_difference(pair) is None


def first_difference(pair: PositionPair) -> int | None:
    """Return the index of the first greedy token that differs; None if none does."""
    tokens = list(zip(pair.reference.token_ids, pair.other.token_ids, strict=False))
    equal = sum(1 for _ in takewhile(lambda both: both[0] == both[1], tokens))
    return equal if equal < len(tokens) else None


def divergence_bound(pair: PositionPair) -> float:
    """Return a lower bound of KL(reference || other) in nats: over the tokens that both list, and all others as one.

    Merging outcomes never increases a divergence (data processing inequality).
    """
    reference = dict(zip(pair.reference.token_ids, pair.reference.logprobs, strict=False))
    other = dict(zip(pair.other.token_ids, pair.other.logprobs, strict=False))
    shared = [token for token in reference if token in other]
    bound = sum(math.exp(reference[token]) * (reference[token] - other[token]) for token in shared)
    other_mass, other_rest = (
        max(LEAST_REST, 1 - sum(math.exp(logprobs[token]) for token in shared)) for logprobs in (reference, other)
    )
    return max(0.0, bound + other_mass * math.log(other_mass / other_rest))


def text_logprob_change(pair: PositionPair) -> float | None:
    """Return the change of the log-probability of the text's own token; None unless both list it."""
    reference, other = pair.reference.text_logprob, pair.other.text_logprob
    return None if reference is None or other is None else other - reference


def recomputed_ratio(loads: Sequence[FidelityLoad]) -> float | None:
    """Return the share of all prefix tokens that were computed anew; None unless every position reports it."""
    positions = [position for load in loads for position in load.positions.values()]
    cached = [position.cached_tokens for position in positions if position.cached_tokens is not None]
    total = sum(position.prefix_tokens for position in positions)
    return 1 - sum(cached) / total if total and len(cached) == len(positions) else None


def _counts(pairs: Iterable[PositionPair], is_hit: Callable[[PositionPair], bool]) -> CountsByText:
    """Return the hits of each text. Several loads of an arm answer the same positions, so they count as one load."""
    hits: dict[str, dict[PositionKey, list[bool]]] = {}
    for pair in pairs:
        by_key = hits.setdefault(pair.reference.text_name, {})
        by_key.setdefault(key_of_position(pair.reference), []).append(is_hit(pair))
    return {name: TextCount(sum(map(fmean, by_key.values())), len(by_key)) for name, by_key in hits.items()}


def _mean(pairs: Iterable[PositionPair], value_of: Callable[[PositionPair], float | None]) -> TextEstimate | None:
    """Return the mean over texts of the mean over their positions."""
    values: dict[str, list[float]] = {}
    for pair in pairs:
        value = value_of(pair)
        if value is not None:
            values.setdefault(pair.reference.text_name, []).append(value)
    return mean_of_texts([fmean(text_values) for text_values in values.values()])


def _parts(
    pairs: Sequence[PositionPair], floor_pairs: Sequence[PositionPair], label_of: Callable[[FidelityPosition], str]
) -> Iterator[AgreementPart]:
    """Yield agreement and floor by label, in the order of the positions' depths."""
    ordered = sorted(pairs, key=lambda pair: pair.reference.depth_tokens)
    for label in dict.fromkeys(label_of(pair.reference) for pair in ordered):
        agreement, floor = (
            share_of(_counts([pair for pair in group if label_of(pair.reference) == label], has_same_choice))
            for group in (pairs, floor_pairs)
        )
        if agreement:
            yield AgreementPart(label, agreement, floor)
