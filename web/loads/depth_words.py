"""Words for the depths until which a suite of checks holds."""

from __future__ import annotations

from analysis.loads.check_items import depth_label
from analysis.loads.depth_holds import MARGIN, DepthHolds, DepthShare

ABOUT_DEPTHS = (
    f"A depth holds if it is certain (95 %) that at most {MARGIN:.0%} of the cases that pass at the shallowest depth "
    "are lost, there and at every depth before it. It breaks if fewer cases pass than at the shallowest depth "
    "(McNemar's exact test, 5 % over all depths). Between the two, nothing is known yet: more repeats settle it. Both "
    "claims are about the conversations and texts that were tried."
)


def depth_text(claims: DepthHolds) -> str:
    """Return 'hold until 32k tokens, break at 64k (passed 12 of 48)'."""
    first, breaking = claims.shares[0], _share_at(claims, claims.breaks_at)
    if claims.holds_until is None:
        return f"pass in {passed(first)} cases even at {depth_label(first.depth_tokens)} tokens"
    if claims.holds_until > first.depth_tokens:
        text = f"hold until {depth_label(claims.holds_until)} tokens"
    else:
        text = f"are not known to hold beyond {depth_label(first.depth_tokens)} tokens"
    if breaking is None:
        return text
    return f"{text}, break at {depth_label(breaking.depth_tokens)} ({passed(breaking)} passed)"


def depths_text(suite: str, reached: int | None, own: int | None, baseline_name: str) -> str:
    """Return 'tool calls hold until 32k tokens (A: 100k)'; reached, own: the depths of the arm and of the baseline."""
    depth = f"hold until {depth_label(reached)} tokens" if reached is not None else "hold at no depth"
    return f"{suite} {depth} ({baseline_name}: {depth_label(own) if own is not None else 'at none'})"


def passed(share: DepthShare) -> str:
    """Return '12 of 48'."""
    return f"{share.passed} of {share.n}"


def _share_at(claims: DepthHolds, depth_tokens: int | None) -> DepthShare | None:
    return next((share for share in claims.shares if share.depth_tokens == depth_tokens), None)
