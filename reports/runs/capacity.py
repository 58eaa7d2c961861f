"""Number of requests that a server can hold at once, from its log's memory sizes and its model's layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.physics.attention import Attention, read_attention
from analysis.physics.dtypes import bytes_per_number
from analysis.physics.formula_result import Quantity, evaluate
from analysis.physics.kv_blocks import PrintedDefinition, block_pool
from analysis.physics.kv_bytes import requests_that_fit
from analysis.physics.kv_hybrid import HybridPool
from domain import Run
from reasons import Reason
from reports.runs.model_config import model_config
from storage.queries import run_data

GIB = 1024.0**3
CONTEXTS = (8 << 10, 32 << 10, 128 << 10)
BATCHED_TOKENS = 8192  # if the command does not set it: the default on large GPUs


class RequestFit(NamedTuple):
    """Number of requests of one length that fit at once."""

    context_tokens: int
    requests: Quantity


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Facts that determine the capacity of a run; None: unknown."""

    facts: RunFacts
    startup: Mapping[str, Any]  # a row of the view `startup`
    config: Mapping[str, Any] | Reason

    @property
    def attention(self) -> Attention | Reason:
        return self.config if isinstance(self.config, Reason) else read_attention(self.config)

    @property
    def tensor_parallel(self) -> int:
        return int(self.setting("tensor_parallel") or 1)

    def setting(self, name: str) -> Any:
        """Return the configured value under this name; None if the command does not set it."""
        return self.facts.served.settings.get(name)

    @property
    def number_bytes(self) -> float | None:
        model_dtype = self.attention.dtype if isinstance(self.attention, Attention) else None
        return bytes_per_number(self.setting("kv_cache_dtype") or self.startup.get("kv_cache_dtype"), model_dtype)

    def all_ranks_bytes(self, name: str) -> float | None:
        """Return the bytes over all ranks of a start-up fact given in GiB per rank."""
        gib = self.startup.get(name)
        return None if gib is None else float(gib) * GIB * self.tensor_parallel

    def with_pool(self, share: float) -> MemoryFacts:
        """Return a copy whose KV pool is scaled by this factor."""
        pool = ("kv_cache_gib", "kv_cache_tokens", "swa_tokens")
        return replace(
            self, startup={**self.startup, **{n: size * share for n in pool if (size := self.startup.get(n))}}
        )


def memory_of(store: run_data.Queryable, run: Run, facts: RunFacts) -> MemoryFacts:
    """Read the facts of a run's memory from its log and its model."""
    return MemoryFacts(facts, run_data.startups(store, [run.id])[run.id], model_config(run))


def fits_of(memory: MemoryFacts) -> tuple[RequestFit, ...]:
    """Return how many requests fit at once, at each displayed length."""
    return tuple(RequestFit(context, requests_at_once(memory, context)) for context in _contexts(memory))


def _contexts(memory: MemoryFacts) -> list[int]:
    """Return 8K, 32K and 128K up to the server's longest context, and that."""
    longest = memory.startup.get("full_context_tokens") or memory.setting("max_model_len")
    if longest is None:
        return list(CONTEXTS)
    return [context for context in CONTEXTS if context < longest] + [int(longest)]


def evaluate_attention(memory: MemoryFacts, formula: Any, **inputs: Any) -> Quantity:
    """Evaluate a formula over the model's layers."""
    attention = memory.attention
    if isinstance(attention, Reason):
        return Quantity(None, attention)
    parallel = memory.tensor_parallel
    return evaluate(
        formula, layers=attention.layers, number_bytes=memory.number_bytes, tensor_parallel=parallel, **inputs
    )  # fmt: skip


def requests_at_once(memory: MemoryFacts, context: int) -> Quantity:
    """Return how many requests of this length fit, by the engine's block layout if its log states it, else by bytes."""
    definition, tokens, swa = (
        memory.startup.get(n) for n in ("kv_cache_tokens_definition", "kv_cache_tokens", "swa_tokens")
    )
    attention, pool = memory.attention, memory.all_ranks_bytes("kv_cache_gib")
    windows = [layer.window for layer in attention.layers if layer.window] if isinstance(attention, Attention) else []
    if swa and tokens and windows:
        return Quantity(HybridPool(tokens, swa).requests(context, max(windows)))
    if isinstance(attention, Attention) and pool and definition in list(PrintedDefinition) and memory.number_bytes:
        blocks = block_pool(attention.layers, memory.number_bytes, memory.tensor_parallel)
        block_count = blocks.blocks_in(pool / memory.tensor_parallel)
        return Quantity(
            blocks.requests(block_count, context, int(memory.setting("max_num_batched_tokens") or BATCHED_TOKENS))
        )
    if tokens and definition == "tokens of the pool":
        return Quantity(tokens / context)
    return evaluate_attention(memory, requests_that_fit, pool_bytes=pool, context_tokens=context)
