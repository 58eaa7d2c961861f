"""Checks of printed KV pools against the model's layers and the memory that the weights leave."""

from __future__ import annotations

from math import ceil

from analysis.claims.check import CheckOutcome, FormulaInput, per_group
from analysis.physics.attention import Attention, read_attention
from analysis.physics.kv_blocks import BLOCK_TOKENS, BlockPool, PrintedDefinition, block_pool

GIB = 1024.0**3
FP8, BF16 = 1.0, 2.0
BATCHED_TOKENS = 8192  # vLLM's default on GPUs of 70 GiB and more, and printed by one document
BLOCK_TOLERANCE = 2  # around the quotient, because token counts are truncated


def kv_gib_left(inputs: FormulaInput) -> CheckOutcome:
    """Check the second server's KV pool. Inputs: its tokens, then the first's pool and both weights in GiB.

    Recomputed: the pool by its blocks in FP8 and in BF16, and the memory that the first server's budget leaves beside
    the second's weights. Agrees if FP8 fits that memory.
    """
    tokens, pool, weights, other_weights = (cell.value for cell in inputs.groups[0])
    left_gib = pool + weights - other_weights
    sizes = tuple(_fewest_blocks(inputs, tokens, size) * _pool(inputs, size).block_bytes / GIB for size in (FP8, BF16))
    return CheckOutcome((*sizes, left_gib), abs(sizes[0] - left_gib) <= inputs.tolerance)


def prints_exactly(inputs: FormulaInput) -> CheckOutcome:
    """Check whether some number of blocks prints these tokens at this context; recomputed: blocks and GiB."""
    tokens, context = (int(cell.value) for cell in inputs.groups[0])
    blocks = _blocks_that_print(inputs, tokens, context)
    if blocks is None:
        return CheckOutcome((), False)
    return CheckOutcome((blocks, blocks * _pool(inputs, FP8).block_bytes / GIB), True)


def same_bytes(inputs: FormulaInput) -> CheckOutcome:
    """Compare two pools. Inputs: tokens and context of a block pool, tokens and GiB of another server's pool.

    Recomputed: the first's tokens by blocks over groups, its GiB, and the second's GiB. Disagrees if the token ratio
    exceeds the byte ratio by more than the tolerance: the token counts then have different definitions.
    """
    tokens, context, other_tokens, other_gib = (cell.value for cell in inputs.groups[0])
    blocks = _blocks_that_print(inputs, int(tokens), int(context)) or 0
    pool = _pool(inputs, FP8)
    gib = blocks * pool.block_bytes / GIB
    by_groups = pool.printed_tokens(PrintedDefinition.BLOCKS_OVER_GROUPS, blocks, int(context), BATCHED_TOKENS)
    bytes_ratio = (tokens / other_tokens) / (gib / other_gib)
    return CheckOutcome((float(by_groups), gib, other_gib), bytes_ratio <= inputs.tolerance)


def equal_although(inputs: FormulaInput) -> CheckOutcome:
    """Disagree if two numbers are equal to the last digit although a field that sizes them differs."""
    first, second, field, other_field = inputs.groups[0]
    return CheckOutcome(
        (first.value, second.value), not (first.value == second.value and field.text != other_field.text)
    )


def fits_once(inputs: FormulaInput) -> CheckOutcome:
    """Return a pool's tokens over the context: below 1 not even one full-length request fits."""
    recomputed = per_group(inputs, lambda v: v[0] / v[1])
    return CheckOutcome(recomputed, all(requests >= 1.0 for requests in recomputed))


def _pool(inputs: FormulaInput, number_bytes: float) -> BlockPool:
    """Return the model's block pool; ValueError if the check names no model with readable layers."""
    attention = read_attention(inputs.model_config or {})
    if not isinstance(attention, Attention):
        raise ValueError("The check names no model with readable layers.")
    return block_pool(attention.layers, number_bytes)


def _fewest_blocks(inputs: FormulaInput, tokens: float, number_bytes: float) -> int:
    """Return the fewest blocks that print this many tokens by blocks over groups."""
    return int(tokens) // BLOCK_TOKENS * len(_pool(inputs, number_bytes).groups)


def _blocks_that_print(inputs: FormulaInput, tokens: int, context: int) -> int | None:
    pool, printed = _pool(inputs, FP8), PrintedDefinition.REQUESTS_TIMES_CONTEXT
    estimate = ceil(tokens * pool.blocks_of_request(context, BATCHED_TOKENS) / context)
    candidates = range(estimate - BLOCK_TOLERANCE, estimate + BLOCK_TOLERANCE + 1)
    return next((n for n in candidates if pool.printed_tokens(printed, n, context, BATCHED_TOKENS) == tokens), None)
