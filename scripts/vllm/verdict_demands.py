"""Demands on the output of `./pitwall compare --json` for recounted arms, each with the recounted value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scripts.recount_requests import Recount, StepCounts, middle

TOLERANCE = 0.01
SIDES = ("baseline", "other")
PER_STEP = ("streamed_per_step", "accepted_per_step")
Answer = Mapping[str, Any]
Arm = Sequence[Recount]  # its starts in the order of the answer's values


class Demand(NamedTuple):
    """One number of an answer and the recounted one; `most` is the allowed difference."""

    about: str
    what: str
    ours: float | None
    counted: float
    most: float = TOLERANCE
    is_left_open: bool = False  # the answer is refused because of the machine, so its ratio and factors are not told

    @property
    def apart(self) -> float:
        return math.inf if self.ours is None else abs(self.ours / self.counted - 1)

    @property
    def is_met(self) -> bool:
        return self.is_open or self.apart <= self.most

    @property
    def is_open(self) -> bool:
        return self.is_left_open and self.ours is None


def of_streams(answer: Answer, first: Arm, second: Arm) -> Iterator[Demand]:
    """Compare decode tok/s, one request at a time: each start, each class, their ratios and factors."""
    about = f"{answer['other']} : {answer['baseline']}"
    yield from of_values(
        about, answer, [[middle(recount.decode_tps.values()) for recount in arm] for arm in (first, second)]
    )
    class_parts = {class_part["name"]: class_part for class_part in answer["parts"]}
    for name in first[0].decode_tps:
        speeds = [middle(recount.decode_tps[name] for recount in arm) for arm in (first, second)]
        class_part = class_parts.get(name, {})
        yield from of_ratio(f"{about}, {name}", class_part, speeds)
        yield from of_factors(f"{about}, {name}", class_part, speeds)
        yield from of_steps(
            f"{about}, {name}", class_part, [[recount.classes[name] for recount in arm] for arm in (first, second)]
        )


def of_together(answer: Answer, first: Arm, second: Arm) -> Iterator[Demand]:
    """Compare output tok/s of concurrent requests in the steady part, and its factors."""
    about = f"{answer['other']} : {answer['baseline']}, together"
    yield from of_values(about, answer, [[recount.steady_tps for recount in arm] for arm in (first, second)])
    yield from of_factors(about, answer, [middle(recount.steady_tps for recount in arm) for arm in (first, second)])
    for side, arm in enumerate((first, second)):
        per_step = tokens_per_step(answer, side)
        yield Demand(
            about, f"{SIDES[side]}, tokens per step", per_step, middle(recount.steady_per_piece for recount in arm)
        )
        yield from of_pieces(about, SIDES[side], [recount.together for recount in arm])


def of_values(about: str, answer: Answer, counted: Sequence[Sequence[float]]) -> Iterator[Demand]:
    """Compare the value of each start, and the ratio of the arms."""
    for side, name in enumerate(SIDES):
        values = answer["values"][name]
        for number, value in enumerate(counted[side]):
            yield Demand(about, f"{name} #{number + 1}, tok/s", dict(enumerate(values)).get(number), value)
    yield Demand(about, "ratio", answer["ratio"], middle(counted[1]) / middle(counted[0]))


def of_ratio(about: str, class_part: Answer, speeds: Sequence[float]) -> Iterator[Demand]:
    for side, name in enumerate(SIDES):
        yield Demand(about, f"{name}, tok/s", class_part["values"][side] if class_part else None, speeds[side])
    yield Demand(about, "ratio", class_part.get("ratio"), speeds[1] / speeds[0])


def of_factors(about: str, answer: Answer, speeds: Sequence[float]) -> Iterator[Demand]:
    """Check that the factors multiply to each arm's speed, and their ratios to the ratio."""
    factors = answer.get("factors") or []
    is_split = len(factors) > 1
    for side, name in enumerate(SIDES):
        product = math.prod(factor["values"][side] for factor in factors) if is_split else None
        yield Demand(about, f"{name}, product of the factors", product, speeds[side])
    product = math.prod(factor["ratio"] for factor in factors) if is_split else None
    yield Demand(about, "product of the factors' ratios", product, speeds[1] / speeds[0])


def of_steps(about: str, answer: Answer, counted: Sequence[Sequence[StepCounts]]) -> Iterator[Demand]:
    """Compare tokens per step of both arms: from the streams' tokens, and from the server's accepted ones."""
    for side, name in enumerate(SIDES):
        per_step, recounts = tokens_per_step(answer, side), counted[side]
        streamed, accepted = (middle(getattr(recount, of) for recount in recounts) for of in PER_STEP)
        yield Demand(about, f"{name}, tokens per step", per_step, streamed)
        most = TOLERANCE + max(recount.most_cut_share for recount in recounts)
        yield Demand(about, f"{name}, 1 + accepted per step", per_step, accepted, most)
        yield from of_pieces(about, name, recounts)


def of_pieces(about: str, side: str, counted: Sequence[StepCounts]) -> Iterator[Demand]:
    """Check that every step of a request sends one piece, as Compare assumes when it cuts a phase."""
    pieces, steps = sum(recount.pieces for recount in counted), sum(recount.steps for recount in counted)
    yield Demand(about, f"{side}, pieces to steps", pieces, steps)


def tokens_per_step(answer: Answer, side: int) -> float | None:
    """Return the tokens per step of the arm on this side, as the answer states them."""
    values = [factor["values"][side] for factor in answer.get("factors") or [] if factor["name"] == "tokens_per_step"]
    return values[0] if values else None


def table(demands: Sequence[Demand]) -> str:
    head = ["arms", "number", "told", "counted", "apart", "at most", "met"]
    rows = [
        [
            d.about,
            d.what,
            formatted_number(d.ours),
            formatted_number(d.counted),
            f"{d.apart:.2%}",
            f"{d.most:.1%}",
            "left open" if d.is_open else "yes" if d.is_met else "NO",
        ]
        for d in demands
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def formatted_number(number: float | None) -> str:
    return "not told" if number is None else f"{number:.4g}"
