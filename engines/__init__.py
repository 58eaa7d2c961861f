"""Registry of supported engines; a new one is one package and one entry here."""

from __future__ import annotations

from engines.base import Engine, MetricDefinition
from engines.definitions import CLIENT
from engines.llamacpp import ENGINE as LLAMACPP
from engines.sglang import ENGINE as SGLANG
from engines.trtllm import ENGINE as TRTLLM
from engines.vllm import ENGINE as VLLM

ENGINES: tuple[Engine, ...] = (VLLM, SGLANG, LLAMACPP, TRTLLM)
BY_NAME: dict[str, Engine] = {engine.name: engine for engine in ENGINES}
UNKNOWN_ENGINE = "engine not known"


def max_acceptance_length(engine_name: str | None, draft_tokens: int | None) -> int | None:
    """Return the most tokens that a verified draft can yield, by what the engine's setting of draft tokens counts."""
    engine = BY_NAME.get(engine_name or "")
    is_bonus_included = engine is not None and engine.draft_tokens_include_bonus
    return draft_tokens + (not is_bonus_included) if draft_tokens else None


def all_definitions() -> tuple[MetricDefinition, ...]:
    """Return the definition of every metric under every definition id, including the client's."""
    return (*(row for engine in ENGINES for row in engine.definitions), *CLIENT)
