"""The demo's model computed apart from llama.cpp: full logits in numpy, from weights and a KV cache of any type."""

from __future__ import annotations

from collections.abc import Mapping

import gguf
import numpy as np
from gguf import GGMLQuantizationType

from demo.model import Shape

Weights = Mapping[str, np.ndarray]
BLOCK = 256  # values that Q2_K packs together
ROPE_BASE = 10_000.0
EPSILON = 1e-5
LEAST_UNIT = 1e-6  # of a scale: smaller ones are 0 in 16 bits


def pack_q2_k(values: np.ndarray) -> np.ndarray:
    """Pack rows as Q2_K: gguf reads this type, but does not write it. Each 16 values have a 4-bit scale and minimum."""
    groups = values.reshape(-1, BLOCK // 16, 16).astype(np.float32)
    low = np.minimum(groups.min(axis=2), 0.0)
    scale, minimum = (groups.max(axis=2) - low) / 3, -low
    d, dmin = (np.maximum(part.max(axis=1, keepdims=True) / 15, LEAST_UNIT) for part in (scale, minimum))
    d, dmin = d.astype(np.float16), dmin.astype(np.float16)
    scale_bits, minimum_bits = (
        np.clip(np.rint(part / unit.astype(np.float32)), 0, 15).astype(np.uint8)
        for part, unit in ((scale, d), (minimum, dmin))
    )
    step = d.astype(np.float32) * scale_bits
    shifted = groups + (dmin.astype(np.float32) * minimum_bits)[:, :, None]
    quants = np.clip(
        np.rint(np.divide(shifted, step[:, :, None], where=step[:, :, None] > 0, out=np.zeros_like(shifted))), 0, 3
    )
    quarters = quants.astype(np.uint8).reshape(-1, 2, 4, 32)
    packed = (quarters << np.array([0, 2, 4, 6], np.uint8)[:, None]).sum(axis=2, dtype=np.uint8).reshape(-1, 64)
    blocks = np.concatenate([scale_bits | (minimum_bits << 4), packed, d.view(np.uint8), dmin.view(np.uint8)], axis=1)
    return blocks.reshape(values.shape[0], -1)


def quantized(tensor: np.ndarray, weight_type: GGMLQuantizationType) -> np.ndarray:
    """The bytes of a tensor in this type."""
    if weight_type is GGMLQuantizationType.Q2_K:
        return pack_q2_k(tensor)
    return gguf.quants.quantize(tensor, weight_type)


def rounded(tensor: np.ndarray, weight_type: GGMLQuantizationType) -> np.ndarray:
    """The tensor as this type represents it."""
    shape = tensor.shape
    return gguf.quants.dequantize(quantized(tensor.reshape(-1, shape[-1]), weight_type), weight_type).reshape(shape)


def rounded_weights(weights: Weights, weight_type: GGMLQuantizationType) -> Weights:
    """The matrices as this type represents them; the norms stay at 32 bits."""
    return {name: rounded(t, weight_type).astype(np.float32) if t.ndim == 2 else t for name, t in weights.items()}


def logits_of(token_ids: list[int], matrices: Weights, shape: Shape, kv_type: GGMLQuantizationType) -> np.ndarray:
    """The logits after each token, one row per position."""
    x = matrices["token_embd.weight"][token_ids].astype(np.float32)
    for layer in range(shape.layers):
        part = {name.split(".", 2)[2]: t for name, t in matrices.items() if name.startswith(f"blk.{layer}.")}
        x = x + _attention(_norm(x, part["attn_norm.weight"]), part, shape, kv_type)
        h = _norm(x, part["ffn_norm.weight"])
        gate = h @ part["ffn_gate.weight"].T
        x = x + ((gate / (1 + np.exp(-gate))) * (h @ part["ffn_up.weight"].T)) @ part["ffn_down.weight"].T
    return _norm(x, matrices["output_norm.weight"]) @ matrices["output.weight"].T


def _norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight


def _attention(x: np.ndarray, part: Weights, shape: Shape, kv_type: GGMLQuantizationType) -> np.ndarray:
    count, heads = len(x), shape.heads
    q, k, v = ((x @ part[f"attn_{name}.weight"].T).reshape(count, heads, -1) for name in ("q", "k", "v"))
    q, k = _rotated(q), _rotated(k)
    k, v = (rounded(np.ascontiguousarray(t.astype(np.float32)), kv_type).astype(np.float32) for t in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones((count, count), bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", shares, v).reshape(count, -1) @ part["attn_output.weight"].T


def _rotated(x: np.ndarray) -> np.ndarray:
    """Rotary positions over neighbouring pairs, as llama.cpp's llama architecture has them."""
    size = x.shape[-1]
    angles = np.arange(len(x))[:, None] * ROPE_BASE ** (-np.arange(0, size, 2) / size)
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape).astype(np.float32)
