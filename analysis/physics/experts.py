"""Share of a model's weights that one decode step reads: all, or the used experts of a mixture.

Formula: parameters are counted from the shapes in config.json; of E experts, n tokens that each use k of them touch
`1 - (1 - k/E)^n` (uniform routing).
Caveats: all parameters count with equal bytes, although experts may be quantized and other weights not; real routing
prefers some experts, so fewer are touched. Biases and norms, about 0.01 %, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from analysis.physics.attention import text_config

MATRICES = 3  # gate, up and down of a gated feed-forward layer
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")
_USED = ("num_experts_per_tok", "top_k_experts", "num_experts_per_token")


class Experts(NamedTuple):
    """A mixture of experts by its parameters."""

    experts: int
    experts_per_token: int
    expert_parameters: float  # of all experts of all layers
    other_parameters: float

    def touched(self, tokens: float) -> float:
        """Return the share of experts that a step with this many tokens reads."""
        untouched: float = (1.0 - self.experts_per_token / self.experts) ** tokens
        return 1.0 - untouched

    def active_share(self, tokens: float = 1.0) -> float:
        """Return the share of all weights that a step with this many tokens reads."""
        read_parameters = self.other_parameters + self.touched(tokens) * self.expert_parameters
        return read_parameters / (self.other_parameters + self.expert_parameters)


def read_experts(config: Mapping[str, Any]) -> Experts | None:
    """Return a model's mixture; None for a dense model or an unsupported description."""
    fields = text_config(config)
    experts, experts_per_token = (
        next((fields[n] for n in names if fields.get(n)), None) for names in (_EXPERTS, _USED)
    )
    if not isinstance(experts, int) or not isinstance(experts_per_token, int) or not 0 < experts_per_token <= experts:
        return None
    try:
        return Experts(experts, experts_per_token, *_parameters(fields, experts))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def _parameters(fields: Mapping[str, Any], experts: int) -> tuple[float, float]:
    """Return the parameters of the experts and of everything else."""
    hidden, layers = float(fields["hidden_size"]), int(fields["num_hidden_layers"])
    size = float(fields.get("moe_intermediate_size") or fields["intermediate_size"])
    dense_layers = int(fields.get("first_k_dense_replace") or 0)
    expert_size = MATRICES * hidden * size
    shared = _shared(fields, size) * MATRICES * hidden * (layers - dense_layers)
    dense = dense_layers * MATRICES * hidden * float(fields.get("intermediate_size") or 0)
    embeddings = float(fields["vocab_size"]) * hidden * (1 if fields.get("tie_word_embeddings") else 2)
    other_parameters = shared + dense + embeddings + layers * _attention_parameters(fields, hidden)
    return experts * expert_size * (layers - dense_layers), other_parameters


def _shared(fields: Mapping[str, Any], size: float) -> float:
    """Return the width of the shared experts, which every token passes."""
    return float(fields.get("shared_expert_intermediate_size") or 0) + size * int(fields.get("n_shared_experts") or 0)


def _attention_parameters(fields: Mapping[str, Any], hidden: float) -> float:
    """Return the attention parameters of one layer; for MLA, those of its down and up projections."""
    heads = int(fields["num_attention_heads"])
    if rank := fields.get("kv_lora_rank"):
        return _latent_parameters(fields, hidden, heads, int(rank))
    size = float(fields.get("head_dim") or hidden / heads)
    return hidden * size * (2 * heads + 2 * int(fields.get("num_key_value_heads") or heads))


def _latent_parameters(fields: Mapping[str, Any], hidden: float, heads: int, rank: int) -> float:
    nope, rope, value = (int(fields.get(n) or 0) for n in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    queries = heads * (nope + rope)
    query_rank = int(fields.get("q_lora_rank") or 0)
    query_parameters = (hidden + queries) * query_rank if query_rank else hidden * queries
    return query_parameters + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
