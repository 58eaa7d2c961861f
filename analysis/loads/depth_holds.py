"""Decides until what depth of context a suite of checks holds, against the same server at its shallowest depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from analysis.loads.accuracy import ShareInterval, wilson
from analysis.loads.check_items import pair_verdicts
from analysis.loads.conversation_losses import conversations_needed, is_loss_below
from analysis.loads.paired_accuracy import PairedItems, mcnemar_exact, newcombe_paired
from load_records import SuiteCheck

HOLD_LEVEL = 0.95  # one-sided, of the claim that a depth holds
MARGIN = 0.10  # share of the cases: a depth holds if it is certain that no more than this was lost
BREAK_LEVEL = 0.05  # over all depths of a load
FEWEST_PASSED = 0.5  # share at the shallowest depth, below which nothing can be said to hold


@dataclass(frozen=True, slots=True)
class DepthShare:
    """Passed cases at one depth with Wilson's interval; `items`: against the shallowest depth, None for itself.

    `losses`: of each conversation, the share of its cases that pass at the shallowest depth and fewer here.
    """

    depth_tokens: int
    passed: int
    n: int
    items: PairedItems | None = None
    losses: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        return self.passed / self.n

    @property
    def interval(self) -> ShareInterval:
        return wilson(self.passed, self.n)

    @property
    def is_held(self) -> bool:
        """Whether the loss since the shallowest depth is certainly below the margin, at HOLD_LEVEL."""
        return self.items is None or (
            self.items.n > 0 and newcombe_paired(self.items, 2 * HOLD_LEVEL - 1).low > -MARGIN
        )

    @property
    def is_held_elsewhere(self) -> bool:
        """Whether the loss is shown to be below the margin for conversations of this kind that were not tried too."""
        return self.items is None or is_loss_below(self.losses, MARGIN, HOLD_LEVEL)


@dataclass(frozen=True, slots=True)
class DepthHolds:
    """Shares of a suite by depth, and the claims about them.

    `holds_until`: the deepest depth that holds with all before it; None if the shallowest passes too few cases.
    `breaks_at`: the shallowest depth that certainly passes fewer cases than the shallowest of all; None if none does.
    `holds_elsewhere_until`: like `holds_until`, for conversations that were not tried. `conversations`: how many were
    tried at the next depth. `conversations_needed`: how many would show it there if all lose what these do; None if it
    is shown for the last depth, or if no number would show it.
    """

    suite: str
    shares: tuple[DepthShare, ...]
    holds_until: int | None
    breaks_at: int | None
    holds_elsewhere_until: int | None
    conversations: int
    conversations_needed: int | None


def depth_holds(checks: Sequence[SuiteCheck]) -> list[DepthHolds]:
    """Return the claims about each suite that one load tried at two depths or more.

    Depths are tested in order, and the first that does not hold ends the test, so that the chance that a depth with a
    loss of the margin is said to hold stays below 5 % however many depths there are. A break is McNemar's exact test
    at a level divided by the number of depths.

    Both are about the conversations that were tried: if cases fail together in some, others may lose more. What holds
    elsewhere is decided by the losses of whole conversations.
    """
    suites = dict.fromkeys(check.suite for check in checks if check.depth_tokens is not None)
    shares = {suite: _shares([check for check in checks if check.suite == suite]) for suite in suites}
    return [_claims(suite, by_depth) for suite, by_depth in shares.items() if len(by_depth) > 1]


class CaseKey(NamedTuple):
    """What pairs a case at two depths."""

    case_name: str
    mode: str
    conversation: int | None


CaseVerdicts = Mapping[CaseKey, bool]


def _shares(checks: Sequence[SuiteCheck]) -> list[DepthShare]:
    verdicts: dict[int, dict[CaseKey, bool]] = {}
    for check in checks:
        if check.depth_tokens is not None and check.is_pass is not None:
            key = CaseKey(check.case_name, check.mode, check.repeat)
            verdicts.setdefault(check.depth_tokens, {})[key] = check.is_pass
    if not verdicts:
        return []
    shallowest = min(verdicts)
    return [
        DepthShare(
            depth,
            sum(verdicts[depth].values()),
            len(verdicts[depth]),
            None if depth == shallowest else pair_verdicts(verdicts[shallowest], verdicts[depth]),
            tuple(_losses(verdicts[shallowest], verdicts[depth])),
        )
        for depth in sorted(verdicts)
    ]


def _losses(shallow: CaseVerdicts, deep: CaseVerdicts) -> Iterator[float]:
    """Yield the loss of each conversation, 0 where it passes more cases at depth."""
    conversations = dict.fromkeys(key.conversation for key in shallow if key in deep)
    for conversation in conversations:
        keys = [key for key in shallow if key in deep and key.conversation == conversation]
        yield max(0.0, sum(shallow[key] - deep[key] for key in keys) / len(keys))


def _claims(suite: str, shares: Sequence[DepthShare]) -> DepthHolds:
    can_hold = shares[0].share >= FEWEST_PASSED
    holding_loads, elsewhere = (
        list(takewhile(is_held, shares)) if can_hold else []
        for is_held in (attrgetter("is_held"), attrgetter("is_held_elsewhere"))
    )
    level = BREAK_LEVEL / (len(shares) - 1)
    breaks = (share.depth_tokens for share in shares[1:] if share.items and _is_break(share.items, level))
    open_share = shares[len(elsewhere)] if 0 < len(elsewhere) < len(shares) else None
    return DepthHolds(
        suite,
        tuple(shares),
        holding_loads[-1].depth_tokens if holding_loads else None,
        next(breaks, None),
        elsewhere[-1].depth_tokens if elsewhere else None,
        len(open_share.losses if open_share else shares[-1].losses),
        conversations_needed(open_share.losses, MARGIN, HOLD_LEVEL) if open_share else None,
    )


def _is_break(items: PairedItems, level: float) -> bool:
    return items.lost > items.won and mcnemar_exact(items.lost, items.won) < level
