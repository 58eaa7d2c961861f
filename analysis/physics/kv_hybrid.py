"""Two pools of tokens, one for layers with a sliding window and one for the others, cut from the same bytes.

Source: SGLang's `pool_configurator.HybridSWAPoolConfigurator` (read in 0.5.12 and 0.5.23):
`full_layer_tokens = bytes / (full_bytes + swa_full_tokens_ratio * swa_bytes)`, the ratio 0.8 unless set.
Caveats: the printed gigabytes are GiB and rounded, so tokens come out within a few; how many tokens of the second pool
a request really holds depends on the window, the chunk and the cache's policy and is to be measured: the window alone
is the least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.physics.attention import Layers
from analysis.physics.kv_bytes import layer_bytes

SWA_FULL_TOKENS_RATIO = 0.8


class HybridPool(NamedTuple):
    """Tokens of the two pools."""

    full_tokens: int
    swa_tokens: int

    def requests(self, context_tokens: int, held_swa_tokens: int) -> float:
        """Requests of this length that fit; each holds so many tokens of the pool of the sliding windows."""
        held = min(held_swa_tokens, context_tokens)
        return min(self.full_tokens / context_tokens, self.swa_tokens / held)


def hybrid_pool(
    layers: Sequence[Layers],
    number_bytes: float,
    pool_bytes: float,
    tensor_parallel: int = 1,
    swa_full_tokens_ratio: float = SWA_FULL_TOKENS_RATIO,
) -> HybridPool:
    """The two pools that so many bytes of one rank are cut into."""
    full, swa = (_bytes(layers, number_bytes, tensor_parallel, slides) for slides in (False, True))
    tokens = int(pool_bytes / (full + swa_full_tokens_ratio * swa))
    return HybridPool(tokens, int(tokens * swa_full_tokens_ratio))


def _bytes(layers: Sequence[Layers], number_bytes: float, tensor_parallel: int, slides: bool) -> float:
    of_kind = [one for one in layers if (one.window is not None) is slides]
    return sum(one.count * layer_bytes(one, number_bytes, tensor_parallel) / tensor_parallel for one in of_kind)
