"""Decides until what depth of context a suite of checks holds, against the same server at its shallowest depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.loads.accuracy import ShareInterval, wilson
from analysis.loads.check_items import pair_verdicts
from analysis.loads.paired_accuracy import PairedItems, mcnemar_exact, newcombe_paired
from load_records import SuiteCheck

HOLD_LEVEL = 0.95  # one-sided, of the claim that a depth holds
MARGIN = 0.10  # share of the cases: a depth holds if it is certain that no more than this was lost
BREAK_LEVEL = 0.05  # over all depths of a load
FEWEST_PASSED = 0.5  # share at the shallowest depth, below which nothing can be said to hold


@dataclass(frozen=True, slots=True)
class DepthShare:
    """Passed cases at one depth with Wilson's interval; `items`: against the shallowest depth, None for itself."""

    depth_tokens: int
    passed: int
    n: int
    items: PairedItems | None = None

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


@dataclass(frozen=True, slots=True)
class DepthHolds:
    """Shares of a suite by depth, and the two claims about them.

    `holds_until`: the deepest depth that holds with all before it; None if the shallowest passes too few cases.
    `breaks_at`: the shallowest depth that certainly passes fewer cases than the shallowest of all; None if none does.
    """

    suite: str
    shares: tuple[DepthShare, ...]
    holds_until: int | None
    breaks_at: int | None


def depth_holds(checks: Sequence[SuiteCheck]) -> list[DepthHolds]:
    """Return the claims about each suite that one load tried at two depths or more.

    Depths are tested in order, and the first that does not hold ends the test, so that the chance that a depth with a
    loss of the margin is said to hold stays below 5 % however many depths there are. A break is McNemar's exact test
    at a level divided by the number of depths.

    Both hold for the histories that were tried: if cases fail together in some histories, others may lose more.
    """
    suites = dict.fromkeys(check.suite for check in checks if check.depth_tokens is not None)
    shares = {suite: _shares([check for check in checks if check.suite == suite]) for suite in suites}
    return [_claims(suite, by_depth) for suite, by_depth in shares.items() if len(by_depth) > 1]


def _shares(checks: Sequence[SuiteCheck]) -> list[DepthShare]:
    verdicts: dict[int, dict[str, bool]] = {}
    for check in checks:
        if check.depth_tokens is not None and check.is_pass is not None:
            key = f"{check.case_name} {check.mode} {check.repeat}"
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
        )
        for depth in sorted(verdicts)
    ]


def _claims(suite: str, shares: Sequence[DepthShare]) -> DepthHolds:
    holds_until = None
    if shares[0].share >= FEWEST_PASSED:
        for share in shares:
            if not share.is_held:
                break
            holds_until = share.depth_tokens
    level = BREAK_LEVEL / (len(shares) - 1)
    breaks = (share.depth_tokens for share in shares[1:] if share.items and _is_break(share.items, level))
    return DepthHolds(suite, tuple(shares), holds_until, next(breaks, None))


def _is_break(items: PairedItems, level: float) -> bool:
    return items.lost > items.won and mcnemar_exact(items.lost, items.won) < level
