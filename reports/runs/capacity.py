"""How many requests a server can hold at once, from what its log says of its memory and its model of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.physics.attention import Attention, read_attention
from analysis.physics.dtypes import bytes_per_number
from analysis.physics.known import Quantity, known
from analysis.physics.kv_blocks import Printed, block_pool
from analysis.physics.kv_bytes import requests_that_fit
from analysis.physics.kv_hybrid import HybridPool
from domain import Run
from reasons import Reason
from reports.runs.model_config import model_config
from storage.ask import queries

GIB = 1024.0**3
CONTEXTS = (8 << 10, 32 << 10, 128 << 10)
BATCHED_TOKENS = 8192  # where the command does not say: the default on large GPUs


class Fit(NamedTuple):
    """How many requests of one length fit at once."""

    context_tokens: int
    requests: Quantity


@dataclass(frozen=True, slots=True)
class Memory:
    """What determines the capacity of a run; None is not known."""

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
        """The configured value under this name; None where the command does not set it."""
        return self.facts.served.settings.get(name)

    @property
    def number_bytes(self) -> float | None:
        model_dtype = self.attention.dtype if isinstance(self.attention, Attention) else None
        return bytes_per_number(self.setting("kv_cache_dtype") or self.startup.get("kv_cache_dtype"), model_dtype)

    def ranks_bytes(self, name: str) -> float | None:
        """A start-up fact in GiB a rank, in bytes over all ranks."""
        gib = self.startup.get(name)
        return None if gib is None else float(gib) * GIB * self.tensor_parallel

    def with_pool(self, share: float) -> Memory:
        """The same with a KV pool of this share of its own."""
        pool = ("kv_cache_gib", "kv_cache_tokens", "swa_tokens")
        return replace(
            self, startup={**self.startup, **{n: size * share for n in pool if (size := self.startup.get(n))}}
        )


def memory_of(store: queries.Asked, run: Run, facts: RunFacts) -> Memory:
    """What its log and its model say of its capacity."""
    return Memory(facts, queries.startups(store, [run.id])[run.id], model_config(run))


def fits_of(given: Memory) -> tuple[Fit, ...]:
    """How many requests fit at once, at each length that is shown."""
    return tuple(Fit(context, requests_at_once(given, context)) for context in _contexts(given))


def _contexts(given: Memory) -> list[int]:
    """8K, 32K, 128K as far as the server takes them, and its longest."""
    longest = given.startup.get("full_context_tokens") or given.setting("max_model_len")
    if longest is None:
        return list(CONTEXTS)
    return [context for context in CONTEXTS if context < longest] + [int(longest)]


def of_attention(given: Memory, formula: Any, **more: Any) -> Quantity:
    """A formula over the model's layers."""
    attention = given.attention
    if isinstance(attention, Reason):
        return Quantity(None, attention)
    parallel = given.tensor_parallel
    return known(
        formula, layers=attention.layers, number_bytes=given.number_bytes, tensor_parallel=parallel, **more
    )  # fmt: skip


def requests_at_once(given: Memory, context: int) -> Quantity:
    """How many of this length fit, by the engine's way of keeping them where its log states it, else by bytes alone."""
    definition, tokens, swa = (
        given.startup.get(n) for n in ("kv_cache_tokens_definition", "kv_cache_tokens", "swa_tokens")
    )
    attention, pool = given.attention, given.ranks_bytes("kv_cache_gib")
    windows = [one.window for one in attention.layers if one.window] if isinstance(attention, Attention) else []
    if swa and tokens and windows:
        return Quantity(HybridPool(tokens, swa).requests(context, max(windows)))
    if isinstance(attention, Attention) and pool and definition in list(Printed) and given.number_bytes:
        blocks = block_pool(attention.layers, given.number_bytes, given.tensor_parallel)
        held = blocks.blocks_in(pool / given.tensor_parallel)
        return Quantity(blocks.requests(held, context, int(given.setting("max_num_batched_tokens") or BATCHED_TOKENS)))
    if tokens and definition == "tokens of the pool":
        return Quantity(tokens / context)
    return of_attention(given, requests_that_fit, pool_bytes=pool, context_tokens=context)
