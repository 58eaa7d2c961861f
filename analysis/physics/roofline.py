"""How far decoding is from what the memory's bandwidth allows.

Formula: a step reads the weights once, of each request its keys and values, and k times the draft model; at B requests
and L tokens a step the limit is `B * L * bandwidth / (weights + B * KV(context) + k * draft)` (Williams et al. 2009 for
the roofline; decoding of few requests is bound by bandwidth, not by arithmetic).
Caveats: memory that a server holds for weights over-counts what is read (embeddings, an encoder of images), so a share
may be too high; several GPUs read at once, and their exchange is not in it; of a mixture of experts only those that the
step's tokens were routed to are read, so more with every request.
"""

from __future__ import annotations


def step_bytes(
    weights_bytes: float,
    requests: float = 1.0,
    request_kv_bytes: float = 0.0,
    draft_bytes: float = 0.0,
    draft_tokens: int = 0,
) -> float:
    """Bytes that one decode step reads, over all ranks."""
    return weights_bytes + requests * request_kv_bytes + draft_tokens * draft_bytes


def limit_tps(
    step_bytes: float, bandwidth_bytes_s: float, requests: float = 1.0, tokens_per_step: float = 1.0
) -> float:
    """Decode tok/s of all requests that this bandwidth (of all GPUs together) allows."""
    return requests * tokens_per_step * bandwidth_bytes_s / step_bytes


def share_of_limit(decode_tps: float, limit_tps: float) -> float:
    """What was measured of what the bandwidth allows; above 1 the bytes or the bandwidth are wrong."""
    return decode_tps / limit_tps
