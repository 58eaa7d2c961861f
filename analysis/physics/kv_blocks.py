"""KV pool of equal blocks shared by all kinds of layers, and the two definitions of its printed tokens.

Source: vLLM's `v1/core/kv_cache_utils.py` and `v1/kv_cache_interface.py`, read in 0.19.1 to 0.33.0: layers of one
kind form groups of equal size, pages of the kinds are made equal by a longer block, and a request takes blocks of each
group. Printed up to 0.20.0: `num_blocks // num_groups * min_block_size`; from 0.20.2 on:
`max_concurrency * max_model_len`.
Caveat: the second gives 3 to 10 times as many tokens for the same memory: compare within one definition only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from analysis.physics.attention import Layers
from analysis.physics.kv_bytes import layer_bytes

BLOCK_TOKENS = 16
GROUPS_STAY_WHOLE = 1.25  # below this ratio of layer counts, groups are as large as the largest kind


class PrintedDefinition(StrEnum):
    """Definition of a printed pool's tokens; the values are those of `startup.kv_cache_tokens_definition`."""

    BLOCKS_OVER_GROUPS = "num_blocks // num_groups * min_block_size"
    REQUESTS_TIMES_CONTEXT = "max_concurrency * max_model_len"


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers of one kind in one group."""

    block_tokens: int
    window: int | None


@dataclass(frozen=True, slots=True)
class BlockPool:
    """Groups of layers, and the bytes of a block on one rank."""

    groups: tuple[LayerGroup, ...]
    block_bytes: float

    def blocks_in(self, pool_bytes: float) -> int:
        """Return the blocks that this many bytes of one rank hold."""
        return int(pool_bytes // self.block_bytes)

    def blocks_of_request(self, context_tokens: int, batched_tokens: int) -> int:
        """Return the blocks of a request; a window group keeps the window, a prompt chunk and one more block."""
        return sum(_blocks(group, context_tokens, batched_tokens) for group in self.groups)

    def requests(self, blocks: int, context_tokens: int, batched_tokens: int) -> float:
        """Return the requests of this length that fit at once; below 1 not even one fits."""
        return blocks / self.blocks_of_request(context_tokens, batched_tokens)

    def printed_tokens(
        self, definition: PrintedDefinition, blocks: int, context_tokens: int, batched_tokens: int
    ) -> int:
        """Return the 'KV cache size' in tokens that the engine prints for this many blocks."""
        if definition is PrintedDefinition.BLOCKS_OVER_GROUPS:
            return blocks // len(self.groups) * min(group.block_tokens for group in self.groups)
        return int(self.requests(blocks, context_tokens, batched_tokens) * context_tokens)


def block_pool(
    layers: Sequence[Layers], number_bytes: float, tensor_parallel: int = 1, block_tokens: int = BLOCK_TOKENS
) -> BlockPool:
    """Return the pool that the engine allocates for a model."""
    pages = [layer_bytes(layer, number_bytes, tensor_parallel) / tensor_parallel * block_tokens for layer in layers]
    fewest, most = min(layer.count for layer in layers), max(layer.count for layer in layers)
    size = most if most < fewest * GROUPS_STAY_WHOLE else fewest
    groups = [
        LayerGroup(int(block_tokens * max(pages) // page), layer.window)
        for layer, page in zip(layers, pages, strict=True)
        for _ in range(ceil(layer.count / size))
    ]
    return BlockPool(tuple(groups), size * max(pages))


def _blocks(group: LayerGroup, context_tokens: int, batched_tokens: int) -> int:
    if group.window is None:
        return ceil(context_tokens / group.block_tokens)
    kept_tokens = min(group.window - 1 + batched_tokens, context_tokens)
    return ceil(kept_tokens / group.block_tokens) + 1
