"""Bytes of keys and values, per token and per request.

Formula: for each layer, KV heads x (size of a key + size of a value) x bytes of a number; a layer with a sliding window
keeps at most its window. Source: the shapes of the tensors that attention reads (Shazeer 2019 for one KV head, Ainslie
et al. 2023 for groups, DeepSeek-V2 2024 for the latent of MLA).
Caveats: engine overhead is left out (partly filled pages, a draft model's layers, per-head scales); layers with a state
of constant size add nothing per token, and their state is not counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil

from analysis.physics.attention import Layers


def layer_bytes(layers: Layers, number_bytes: float, tensor_parallel: int = 1) -> float:
    """Return the bytes of one token in one layer, over all ranks: a rank keeps at least one head, or a full latent."""
    heads_of_a_rank = max(1, ceil(layers.kv_heads / tensor_parallel)) if layers.is_split else layers.kv_heads
    return heads_of_a_rank * tensor_parallel * layers.numbers_per_head * number_bytes


def token_bytes(layers: Sequence[Layers], number_bytes: float, tensor_parallel: int = 1) -> float:
    """Return the bytes of one token that is inside every window, over all ranks."""
    return sum(layer.count * layer_bytes(layer, number_bytes, tensor_parallel) for layer in layers)


def request_bytes(
    layers: Sequence[Layers], number_bytes: float, context_tokens: int, tensor_parallel: int = 1
) -> float:
    """Return the bytes that a request with this context keeps, over all ranks; attention reads them in every step."""
    return sum(
        layer.count
        * layer_bytes(layer, number_bytes, tensor_parallel)
        * min(context_tokens, layer.window or context_tokens)
        for layer in layers
    )


def longest_context(
    pool_bytes: float, layers: Sequence[Layers], number_bytes: float, tensor_parallel: int, supported_tokens: int
) -> int:
    """Return the most tokens, up to those that the model supports, of one request in a pool over all ranks.

    An upper bound, as for requests_that_fit; 0 if not even one token fits.
    """
    return bisect_right(
        range(1, supported_tokens + 1),
        pool_bytes,
        key=lambda context: request_bytes(layers, number_bytes, context, tensor_parallel),
    )


def requests_that_fit(
    pool_bytes: float,
    layers: Sequence[Layers],
    number_bytes: float,
    context_tokens: int,
    tensor_parallel: int = 1,
) -> float:
    """Return the requests with this context that a pool (over all ranks) holds without waste: an upper bound."""
    return pool_bytes / request_bytes(layers, number_bytes, context_tokens, tensor_parallel)
