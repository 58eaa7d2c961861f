"""Hybrid KV cache of two token pools, one for layers with a sliding window and one for the others.

Source: SGLang's `pool_configurator.HybridSWAPoolConfigurator` (read in 0.5.12 and 0.5.23) prints the tokens of both.
Caveats: the tokens of the second pool that a request really holds depend on the window, the chunk and the cache policy
and must be measured; the window is the minimum.
"""

from __future__ import annotations

from typing import NamedTuple


class HybridPool(NamedTuple):
    """Tokens of the two pools."""

    full_tokens: int
    swa_tokens: int

    def requests(self, context_tokens: int, held_swa_tokens: int) -> float:
        """Return the requests of this length that fit; each holds `held_swa_tokens` of the sliding-window pool."""
        request_swa_tokens = min(held_swa_tokens, context_tokens)
        return min(self.full_tokens / context_tokens, self.swa_tokens / request_swa_tokens)
