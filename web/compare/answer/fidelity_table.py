"""The answers of each arm against the first arm's: agreement, divergence and greedy answers, by depth and kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.compare_arms import ArmComparison
from analysis.guard.quality import fidelity_of
from analysis.loads.clustered_share import TextEstimate
from analysis.loads.fidelity import Fidelity, FidelityAnswer
from web import markup
from web.compare.answer.guard_words import percent
from web.compare.answer.overview import Colors
from web.theme import DASH

ABOUT = (
    "How often each arm's most likely next token is the first arm's, after fixed texts, with 95 % intervals over the "
    "texts. The first arm's own share is that of its second start. The divergence is a lower bound."
)
HEAD = (
    "Arm", "Same first choice", "First arm's own", "Beyond its own", "Answer", "Divergence, at least",
    "Greedy answers unchanged", "First change", "Recomputed",
)  # fmt: skip
ANSWERS = {
    FidelityAnswer.DIFFERS: "differs",
    FidelityAnswer.SAME: "the same",
    FidelityAnswer.UNDECIDED: "not known yet",
    FidelityAnswer.NO_FLOOR: "needs a second start of the first arm",
}


class MeasuredFidelity(NamedTuple):
    """An arm that is compared with the first one, and its answers."""

    arm_id: str
    arm_name: str
    fidelity: Fidelity


def measured_fidelities(answers: Sequence[ArmComparison]) -> list[MeasuredFidelity]:
    """Return the arms whose answers were measured, in the order of the comparison."""
    pairs = [(answer.pair.contender, fidelity_of(answer.pair)) for answer in answers]
    return [MeasuredFidelity(arm.id, arm.name, fidelity) for arm, fidelity in pairs if isinstance(fidelity, Fidelity)]


def fidelity_table(measured: Sequence[MeasuredFidelity], colors: Colors) -> str:
    """Return the table and its breakdown as markup; '' without a measured arm."""
    if not measured:
        return ""
    rows = [
        [markup.colored_name(arm.arm_name, colors[arm.arm_id]), *map(markup.text, cells[1:])]
        for arm, cells in zip(measured, fidelity_cells(measured), strict=True)
    ]
    parts = [[markup.text(cell) for cell in cells] for cells in part_cells(measured)]
    part_head = ["Depth or kind", *(markup.colored_name(arm.arm_name, colors[arm.arm_id]) for arm in measured)]
    return markup.table(list(HEAD), rows, wraps=True) + markup.table(part_head, parts, wraps=True)


def fidelity_cells(measured: Sequence[MeasuredFidelity]) -> Iterator[list[str]]:
    """Yield the cells of each arm, in the order of HEAD."""
    for _, name, fidelity in measured:
        change = fidelity.first_difference_token
        yield [
            name,
            _share(fidelity.agreement),
            _share(fidelity.floor),
            _points(fidelity.loss),
            ANSWERS[fidelity.answer],
            _divergence(fidelity),
            _greedy(fidelity),
            DASH if change is None else f"token {change:.0f}",
            DASH if fidelity.recomputed_ratio is None else f"{percent(fidelity.recomputed_ratio, 1)} of the prefixes",
        ]


def part_cells(measured: Sequence[MeasuredFidelity]) -> Iterator[list[str]]:
    """Yield one row per depth and kind of text: its label, then agreement and floor of each arm."""
    by_arm = [{part.label: part for part in (*arm.fidelity.by_depth, *arm.fidelity.by_kind)} for arm in measured]
    for label in dict.fromkeys(label for parts in by_arm for label in parts):
        cells = []
        for parts in by_arm:
            part = parts.get(label)
            own_words = f"; own {percent(part.floor.value, 1)}" if part and part.floor else ""
            cells.append(f"{_share(part.agreement)}{own_words}" if part else DASH)
        yield [label, *cells]


def _share(estimate: TextEstimate | None) -> str:
    if estimate is None:
        return DASH
    interval = "" if estimate.low is None or estimate.high is None else f" ({_range(estimate.low, estimate.high)})"
    return f"{percent(estimate.value, 1)}{interval}"


def _points(estimate: TextEstimate | None) -> str:
    if estimate is None:
        return DASH
    interval = "" if estimate.low is None or estimate.high is None else f" ({_range(estimate.low, estimate.high)})"
    return f"{100 * estimate.value:.1f} points{interval}"


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _divergence(fidelity: Fidelity) -> str:
    own_divergence = fidelity.floor_divergence_nats
    return f"{fidelity.divergence_nats.value:.4f} nats" + (
        f"; own {own_divergence.value:.4f}" if own_divergence else ""
    )


def _greedy(fidelity: Fidelity) -> str:
    unchanged, own_unchanged = fidelity.unchanged_greedy, fidelity.floor_unchanged_greedy
    if unchanged is None:
        return DASH
    return f"{percent(unchanged.value)} of {unchanged.texts}" + (
        f"; own {percent(own_unchanged.value)}" if own_unchanged else ""
    )
