"""The engines that Pitwall supports; a new one is one package and one entry here."""

from __future__ import annotations

from engines.base import Engine, MetricDefinition
from engines.definitions import CLIENT
from engines.llamacpp import ENGINE as LLAMACPP
from engines.sglang import ENGINE as SGLANG
from engines.trtllm import ENGINE as TRTLLM
from engines.vllm import ENGINE as VLLM

ENGINES: tuple[Engine, ...] = (VLLM, SGLANG, LLAMACPP, TRTLLM)
BY_NAME: dict[str, Engine] = {engine.name: engine for engine in ENGINES}


def all_definitions() -> tuple[MetricDefinition, ...]:
    """What every metric means under every definition id, the client's own among them."""
    return (*(row for engine in ENGINES for row in engine.definitions), *CLIENT)
