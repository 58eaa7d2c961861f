"""Words for the depths until which a suite of checks holds."""

from __future__ import annotations

from analysis.loads.check_items import depth_label
from analysis.loads.conversation_losses import conversations_needed
from analysis.loads.depth_holds import HOLD_LEVEL, MARGIN, DepthHolds, DepthShare

FEWEST_CONVERSATIONS = conversations_needed([0.0], MARGIN, HOLD_LEVEL)
ABOUT_DEPTHS = (
    f"A depth holds if it is certain (95 %) that at most {100 * MARGIN:.0f} % of the cases that pass at the shallowest "
    "depth are lost, there and at every depth before it. It breaks if fewer cases pass than at the shallowest depth "
    "(McNemar's exact test, 5 % over all depths). Between the two, nothing is known yet: more repeats settle it. Both "
    "claims are about the conversations and texts that were tried. A depth holds in other conversations of this kind "
    f"too if the losses of whole conversations show it (95 %), which takes {FEWEST_CONVERSATIONS} of them at least."
)


def depth_text(claims: DepthHolds) -> str:
    """Return 'hold until 32k tokens, break at 64k (12 of 48 passed) in the 6 conversations tried; for others, ...'."""
    first, breaking = claims.shares[0], _share_at(claims, claims.breaks_at)
    if claims.holds_until is None:
        return f"pass in {passed(first)} cases even at {depth_label(first.depth_tokens)} tokens"
    if claims.holds_until > first.depth_tokens:
        text = f"hold until {depth_label(claims.holds_until)} tokens"
    else:
        text = f"are not known to hold beyond {depth_label(first.depth_tokens)} tokens"
    if breaking is not None:
        text += f", break at {depth_label(breaking.depth_tokens)} ({passed(breaking)} passed)"
    return f"{text}{_elsewhere_text(claims)}"


def _elsewhere_text(claims: DepthHolds) -> str:
    """Return '; in other conversations too', or ' in the 6 conversations tried; for others, 36 would settle 8k'."""
    until, depths = claims.holds_elsewhere_until, [share.depth_tokens for share in claims.shares]
    if until == depths[-1]:
        return "; in other conversations too"
    number = claims.conversations
    tried = f" in the {number} conversations tried" if number != 1 else " in the one conversation tried"
    depth_text = f"; in others until {depth_label(until)}" if until is not None and until > depths[0] else ""
    following = depth_label(next(depth for depth in depths if until is None or depth > until))
    if claims.conversations_needed is None:
        return f"{tried}{depth_text}; of others nothing is known at {following}"
    return f"{tried}{depth_text}; for others, {claims.conversations_needed} would settle {following}"


def depths_text(suite: str, reached: int | None, own: int | None, baseline_name: str) -> str:
    """Return 'tool calls hold until 32k tokens (A: 100k)'; reached, own: the depths of the arm and of the baseline."""
    depth = f"hold until {depth_label(reached)} tokens" if reached is not None else "hold at no depth"
    return f"{suite} {depth} ({baseline_name}: {depth_label(own) if own is not None else 'at none'})"


def passed(share: DepthShare) -> str:
    """Return '12 of 48'."""
    return f"{share.passed} of {share.n}"


def _share_at(claims: DepthHolds, depth_tokens: int | None) -> DepthShare | None:
    return next((share for share in claims.shares if share.depth_tokens == depth_tokens), None)
