"""Bytes of keys and values: of one more token, and of a whole request.

Formula: for each layer, KV heads x (size of a key + size of a value) x bytes of a number; a layer with a sliding window
keeps at most its window. Source: the shapes of the tensors that attention reads (Shazeer 2019 for one KV head, Ainslie
et al. 2023 for groups, DeepSeek-V2 2024 for the latent of MLA).
Caveats: what an engine adds is left out (pages that are not full, a draft model's own layers, scales kept a head);
layers with a state of constant size add nothing per token, and their state is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from analysis.physics.attention import Layers


def layer_bytes(layers: Layers, number_bytes: float, tensor_parallel: int = 1) -> float:
    """Bytes of one token in one of these layers, over all ranks: a rank keeps one head at least, or a whole latent."""
    heads_of_a_rank = max(1, ceil(layers.kv_heads / tensor_parallel)) if layers.is_split else layers.kv_heads
    return heads_of_a_rank * tensor_parallel * layers.numbers_per_head * number_bytes


def token_bytes(layers: Sequence[Layers], number_bytes: float, tensor_parallel: int = 1) -> float:
    """Bytes that one token takes within every window, over all ranks."""
    return sum(one.count * layer_bytes(one, number_bytes, tensor_parallel) for one in layers)


def request_bytes(
    layers: Sequence[Layers], number_bytes: float, context_tokens: int, tensor_parallel: int = 1
) -> float:
    """Bytes that a request of so many tokens keeps, over all ranks; also what attention reads of it in one step."""
    return sum(
        one.count * layer_bytes(one, number_bytes, tensor_parallel) * min(context_tokens, one.window or context_tokens)
        for one in layers
    )


def requests_that_fit(
    pool_bytes: float,
    layers: Sequence[Layers],
    number_bytes: float,
    context_tokens: int,
    tensor_parallel: int = 1,
) -> float:
    """Requests of so many tokens that a pool holds (over all ranks), if it wasted nothing: an upper bound."""
    return pool_bytes / request_bytes(layers, number_bytes, context_tokens, tensor_parallel)
