"""Two pools of tokens, one for layers with a sliding window and one for the others.

Source: SGLang's `pool_configurator.HybridSWAPoolConfigurator` (read in 0.5.12 and 0.5.23) prints the tokens of both.
Caveats: how many tokens of the second pool a request really holds depends on the window, the chunk and the cache's
policy and is to be measured: the window alone is the least.
"""

from __future__ import annotations

from typing import NamedTuple


class HybridPool(NamedTuple):
    """Tokens of the two pools."""

    full_tokens: int
    swa_tokens: int

    def requests(self, context_tokens: int, held_swa_tokens: int) -> float:
        """Requests of this length that fit; each holds so many tokens of the pool of the sliding windows."""
        held = min(held_swa_tokens, context_tokens)
        return min(self.full_tokens / context_tokens, self.swa_tokens / held)
