"""A pool of equal blocks that all kinds of layers share, and the two ways in which its tokens were printed.

Source: vLLM's `v1/core/kv_cache_utils.py` and `v1/kv_cache_interface.py`, read in 0.19.1 to 0.33.0: layers of one
kind form groups of equal size, pages of the kinds are made equal by a longer block, and a request takes blocks of each
group. Printed up to 0.20.0: `num_blocks // num_groups * min_block_size`; from 0.20.2 on:
`max_concurrency * max_model_len`.
Caveat: the same memory is 3 to 10 times as many tokens by the second: tokens compare within one definition only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from analysis.physics.attention import Layers
from analysis.physics.kv_bytes import layer_bytes

BLOCK_TOKENS = 16
GROUPS_STAY_WHOLE = 1.25  # kinds whose numbers of layers are nearer than this share groups as large as the largest


class Printed(StrEnum):
    """What the tokens of a printed pool are; the words are those of `startup.kv_cache_tokens_definition`."""

    BLOCKS_OVER_GROUPS = "num_blocks // num_groups * min_block_size"
    REQUESTS_TIMES_CONTEXT = "max_concurrency * max_model_len"


@dataclass(frozen=True, slots=True)
class Group:
    """Layers of one kind in one group."""

    block_tokens: int
    window: int | None


@dataclass(frozen=True, slots=True)
class BlockPool:
    """Groups of layers, and the bytes of a block on one rank."""

    groups: tuple[Group, ...]
    block_bytes: float

    def blocks_in(self, pool_bytes: float) -> int:
        """Blocks that so many bytes of one rank hold."""
        return int(pool_bytes // self.block_bytes)

    def blocks_of_request(self, context_tokens: int, batched_tokens: int) -> int:
        """Blocks of a request; a window's group keeps the window, a chunk of the prompt and one block more."""
        return sum(_blocks(group, context_tokens, batched_tokens) for group in self.groups)

    def requests(self, blocks: int, context_tokens: int, batched_tokens: int) -> float:
        """Requests of this length that fit at once; below 1 not even one does."""
        return blocks / self.blocks_of_request(context_tokens, batched_tokens)

    def printed_tokens(self, printed: Printed, blocks: int, context_tokens: int, batched_tokens: int) -> int:
        """The 'KV cache size' that the engine prints of so many blocks, in tokens."""
        if printed is Printed.BLOCKS_OVER_GROUPS:
            return blocks // len(self.groups) * min(group.block_tokens for group in self.groups)
        return int(self.requests(blocks, context_tokens, batched_tokens) * context_tokens)


def block_pool(
    layers: Sequence[Layers], number_bytes: float, tensor_parallel: int = 1, block_tokens: int = BLOCK_TOKENS
) -> BlockPool:
    """The pool that the engine makes for a model."""
    pages = [layer_bytes(one, number_bytes, tensor_parallel) / tensor_parallel * block_tokens for one in layers]
    fewest, most = min(one.count for one in layers), max(one.count for one in layers)
    size = most if most < fewest * GROUPS_STAY_WHOLE else fewest
    groups = [
        Group(int(block_tokens * max(pages) // page), one.window)
        for one, page in zip(layers, pages, strict=True)
        for _ in range(ceil(one.count / size))
    ]
    return BlockPool(tuple(groups), size * max(pages))


def _blocks(group: Group, context_tokens: int, batched_tokens: int) -> int:
    if group.window is None:
        return ceil(context_tokens / group.block_tokens)
    kept = min(group.window - 1 + batched_tokens, context_tokens)
    return ceil(kept / group.block_tokens) + 1
