"""Which part of a model's weights one decode step reads: all of it, or of a mixture the experts that are used.

Formula: parameters are counted from the shapes in config.json; of E experts, n tokens that each use k of them touch
`1 - (1 - k/E)^n` (routing that is alike for all experts).
Caveats: quantized experts and unquantized rest are counted as if a parameter took the same bytes everywhere; real
routing prefers some experts, so fewer are touched. Biases and norms are left out: they are a ten-thousandth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from analysis.physics.attention import text_config

MATRICES = 3  # gate, up and down of a gated feed-forward layer
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")
_USED = ("num_experts_per_tok", "top_k_experts", "num_experts_per_token")


class Experts(NamedTuple):
    """A mixture's shape in parameters."""

    experts: int
    used: int  # a token
    expert_parameters: float  # of all experts of all layers
    other_parameters: float

    def touched(self, tokens: float) -> float:
        """Share of the experts that a step of so many tokens reads."""
        untouched: float = (1.0 - self.used / self.experts) ** tokens
        return 1.0 - untouched

    def active_share(self, tokens: float = 1.0) -> float:
        """Share of all weights that a step of so many tokens reads."""
        read = self.other_parameters + self.touched(tokens) * self.expert_parameters
        return read / (self.other_parameters + self.expert_parameters)


def read_experts(config: Mapping[str, Any]) -> Experts | None:
    """The mixture of a model; None of a dense one, or where its shape is given in another way."""
    fields = text_config(config)
    experts, used = (next((fields[n] for n in names if fields.get(n)), None) for names in (_EXPERTS, _USED))
    if not isinstance(experts, int) or not isinstance(used, int) or not 0 < used <= experts:
        return None
    try:
        return Experts(experts, used, *_parameters(fields, experts))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def _parameters(fields: Mapping[str, Any], experts: int) -> tuple[float, float]:
    """Those of the experts and those of everything else."""
    hidden, layers = float(fields["hidden_size"]), int(fields["num_hidden_layers"])
    size = float(fields.get("moe_intermediate_size") or fields["intermediate_size"])
    dense_layers = int(fields.get("first_k_dense_replace") or 0)
    one = MATRICES * hidden * size
    shared = _shared(fields, size) * MATRICES * hidden * (layers - dense_layers)
    dense = dense_layers * MATRICES * hidden * float(fields.get("intermediate_size") or 0)
    embeddings = float(fields["vocab_size"]) * hidden * (1 if fields.get("tie_word_embeddings") else 2)
    other = shared + dense + embeddings + layers * _attention_parameters(fields, hidden)
    return experts * one * (layers - dense_layers), other


def _shared(fields: Mapping[str, Any], size: float) -> float:
    """Width of what every token passes beside its experts."""
    return float(fields.get("shared_expert_intermediate_size") or 0) + size * int(fields.get("n_shared_experts") or 0)


def _attention_parameters(fields: Mapping[str, Any], hidden: float) -> float:
    """The attention parameters of one layer; for MLA, those of its projections down and up."""
    heads = int(fields["num_attention_heads"])
    if rank := fields.get("kv_lora_rank"):
        return _latent_parameters(fields, hidden, heads, int(rank))
    size = float(fields.get("head_dim") or hidden / heads)
    return hidden * size * (2 * heads + 2 * int(fields.get("num_key_value_heads") or heads))


def _latent_parameters(fields: Mapping[str, Any], hidden: float, heads: int, rank: int) -> float:
    nope, rope, value = (int(fields.get(n) or 0) for n in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    queries = heads * (nope + rope)
    into = int(fields.get("q_lora_rank") or 0)
    of_queries = (hidden + queries) * into if into else hidden * queries
    return of_queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
