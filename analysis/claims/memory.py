"""Checks of KV pools: what was printed, held against the model's layers and the memory that weights leave."""

from __future__ import annotations

from math import ceil

from analysis.claims.check import Given, Outcome, each
from analysis.physics.attention import Attention, read_attention
from analysis.physics.kv_blocks import BLOCK_TOKENS, BlockPool, Printed, block_pool

GIB = 1024.0**3
FP8, BF16 = 1.0, 2.0
BATCHED_TOKENS = 8192  # the default on GPUs of 70 GiB and more, and what one of the documents prints
OFF_BY = 2  # blocks around the quotient, which was cut to a whole token


def kv_gib_left(given: Given) -> Outcome:
    """Tokens of the second server; pool, weights of the first and weights of the second in GiB.

    Recomputed: the pool by its blocks in FP8 and in BF16, and what the first one's memory leaves beside the weights.
    Agrees where FP8 fits that.
    """
    tokens, pool, weights, other_weights = (cell.value for cell in given.groups[0])
    left = pool + weights - other_weights
    sizes = tuple(_fewest_blocks(given, tokens, size) * _pool(given, size).block_bytes / GIB for size in (FP8, BF16))
    return Outcome((*sizes, left), abs(sizes[0] - left) <= given.tolerance)


def prints_exactly(given: Given) -> Outcome:
    """Whether some number of blocks prints these tokens at this context; recomputed: blocks and GiB."""
    tokens, context = (int(cell.value) for cell in given.groups[0])
    blocks = _blocks_that_print(given, tokens, context)
    if blocks is None:
        return Outcome((), False)
    return Outcome((blocks, blocks * _pool(given, FP8).block_bytes / GIB), True)


def same_bytes(given: Given) -> Outcome:
    """Tokens and context of a pool of blocks, tokens and GiB of another server's.

    Recomputed: the tokens of the first by blocks over groups, its GiB, those of the second. It does not agree where the
    tokens are further apart than the tolerance times the bytes: then they are not tokens of one kind.
    """
    tokens, context, other_tokens, other_gib = (cell.value for cell in given.groups[0])
    blocks = _blocks_that_print(given, int(tokens), int(context)) or 0
    pool = _pool(given, FP8)
    gib = blocks * pool.block_bytes / GIB
    by_groups = pool.printed_tokens(Printed.BLOCKS_OVER_GROUPS, blocks, int(context), BATCHED_TOKENS)
    apart = (tokens / other_tokens) / (gib / other_gib)
    return Outcome((float(by_groups), gib, other_gib), apart <= given.tolerance)


def equal_although(given: Given) -> Outcome:
    """Two numbers that are equal to the last digit although a field that sizes them differs."""
    first, second, field, other_field = given.groups[0]
    return Outcome((first.value, second.value), not (first.value == second.value and field.text != other_field.text))


def fits_once(given: Given) -> Outcome:
    """Tokens of a pool over the context: below 1 not one request of full length fits."""
    recomputed = each(given, lambda v: v[0] / v[1])
    return Outcome(recomputed, all(one >= 1.0 for one in recomputed))


def _pool(given: Given, number_bytes: float) -> BlockPool:
    """Raises ValueError where the check names no model whose layers can be read."""
    attention = read_attention(given.model_config or {})
    if not isinstance(attention, Attention):
        raise ValueError("The check names no model whose layers can be read.")
    return block_pool(attention.layers, number_bytes)


def _fewest_blocks(given: Given, tokens: float, number_bytes: float) -> int:
    """The fewest blocks that print so many tokens by blocks over groups."""
    return int(tokens) // BLOCK_TOKENS * len(_pool(given, number_bytes).groups)


def _blocks_that_print(given: Given, tokens: int, context: int) -> int | None:
    pool, printed = _pool(given, FP8), Printed.REQUESTS_TIMES_CONTEXT
    about = ceil(tokens * pool.blocks_of_request(context, BATCHED_TOKENS) / context)
    near = range(about - OFF_BY, about + OFF_BY + 1)
    return next((n for n in near if pool.printed_tokens(printed, n, context, BATCHED_TOKENS) == tokens), None)
