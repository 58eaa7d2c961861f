"""What `./pitwall compare --json` must say of arms that were counted anew: each demand with what was seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scripts.recount_requests import Counted, Recount, middle

TOLERANCE = 0.01
SIDES = ("baseline", "other")
PER_STEP = ("streamed_per_step", "accepted_per_step")
Answer = Mapping[str, Any]
Arm = Sequence[Recount]  # its starts in the order of the answer's values


class Demand(NamedTuple):
    """One number of an answer beside the one that was counted; `most` is how far they may be apart."""

    about: str
    what: str
    ours: float | None
    counted: float
    most: float = TOLERANCE

    @property
    def apart(self) -> float:
        return math.inf if self.ours is None else abs(self.ours / self.counted - 1)

    @property
    def is_met(self) -> bool:
        return self.apart <= self.most


def of_streams(answer: Answer, first: Arm, second: Arm) -> Iterator[Demand]:
    """Decode tok/s, one request at a time: each start, each class, their ratios, and the factors of these."""
    about = f"{answer['other']} : {answer['baseline']}"
    yield from of_values(about, answer, [[middle(one.decode_tps.values()) for one in arm] for arm in (first, second)])
    parts = {part["name"]: part for part in answer["parts"]}
    for name in first[0].decode_tps:
        speeds = [middle(one.decode_tps[name] for one in arm) for arm in (first, second)]
        part = parts.get(name, {})
        yield from of_ratio(f"{about}, {name}", part, speeds)
        yield from of_factors(f"{about}, {name}", part, speeds)
        yield from of_steps(f"{about}, {name}", part, [[one.classes[name] for one in arm] for arm in (first, second)])


def of_together(answer: Answer, first: Arm, second: Arm) -> Iterator[Demand]:
    """Output tok/s of requests side by side in the steady part, and the factors of just that."""
    about = f"{answer['other']} : {answer['baseline']}, together"
    yield from of_values(about, answer, [[one.steady_tps for one in arm] for arm in (first, second)])
    yield from of_factors(about, answer, [middle(one.steady_tps for one in arm) for arm in (first, second)])
    for side, arm in enumerate((first, second)):
        per_step = tokens_per_step(answer, side)
        yield Demand(about, f"{SIDES[side]}, tokens per step", per_step, middle(one.steady_per_piece for one in arm))
        yield from of_pieces(about, SIDES[side], [one.together for one in arm])


def of_values(about: str, answer: Answer, counted: Sequence[Sequence[float]]) -> Iterator[Demand]:
    """The value of each start, and the ratio of the arms."""
    for side, name in enumerate(SIDES):
        values = answer["values"][name]
        for number, value in enumerate(counted[side]):
            yield Demand(about, f"{name} #{number + 1}, tok/s", dict(enumerate(values)).get(number), value)
    yield Demand(about, "ratio", answer["ratio"], middle(counted[1]) / middle(counted[0]))


def of_ratio(about: str, part: Answer, speeds: Sequence[float]) -> Iterator[Demand]:
    for side, name in enumerate(SIDES):
        yield Demand(about, f"{name}, tok/s", part["values"][side] if part else None, speeds[side])
    yield Demand(about, "ratio", part.get("ratio"), speeds[1] / speeds[0])


def of_factors(about: str, answer: Answer, speeds: Sequence[float]) -> Iterator[Demand]:
    """Their product is the speed of each arm, and their ratios' product the ratio."""
    factors = answer.get("factors") or []
    is_split = len(factors) > 1
    for side, name in enumerate(SIDES):
        product = math.prod(one["values"][side] for one in factors) if is_split else None
        yield Demand(about, f"{name}, product of the factors", product, speeds[side])
    product = math.prod(one["ratio"] for one in factors) if is_split else None
    yield Demand(about, "product of the factors' ratios", product, speeds[1] / speeds[0])


def of_steps(about: str, answer: Answer, counted: Sequence[Sequence[Counted]]) -> Iterator[Demand]:
    """Tokens per step of both arms: of the streams' own tokens, and of the server's accepted ones."""
    for side, name in enumerate(SIDES):
        per_step, its = tokens_per_step(answer, side), counted[side]
        streamed, accepted = (middle(getattr(one, of) for one in its) for of in PER_STEP)
        yield Demand(about, f"{name}, tokens per step", per_step, streamed)
        most = TOLERANCE + max(one.most_cut_share for one in its)
        yield Demand(about, f"{name}, 1 + accepted per step", per_step, accepted, most)
        yield from of_pieces(about, name, its)


def of_pieces(about: str, side: str, counted: Sequence[Counted]) -> Iterator[Demand]:
    """Every step of a request sends one piece: what Compare takes for granted where it cuts a phase."""
    pieces, steps = sum(one.pieces for one in counted), sum(one.steps for one in counted)
    yield Demand(about, f"{side}, pieces to steps", pieces, steps)


def tokens_per_step(answer: Answer, side: int) -> float | None:
    """The tokens per step of the arm on this side, as the answer states them."""
    values = [one["values"][side] for one in answer.get("factors") or [] if one["name"] == "tokens_per_step"]
    return values[0] if values else None


def table(demands: Sequence[Demand]) -> str:
    head = ["arms", "number", "told", "counted", "apart", "at most", "met"]
    rows = [
        [
            d.about,
            d.what,
            shown(d.ours),
            shown(d.counted),
            f"{d.apart:.2%}",
            f"{d.most:.1%}",
            "yes" if d.is_met else "NO",
        ]
        for d in demands
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def shown(number: float | None) -> str:
    return "not told" if number is None else f"{number:.4g}"
