"""TensorRT-LLM's forced number of accepted draft tokens, which an environment variable sets."""

from __future__ import annotations

import re

from domain import Config
from engines.forced_acceptance import forcing_variable

VARIABLE = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"
_IN_LOG = re.compile(rf"\b{VARIABLE}['\"]?(?:=|: ?)['\"]?(\d[\d.]*)")


def forced_acceptance(config: Config) -> str | None:
    """Return the variable with its value."""
    return forcing_variable(config.env, (VARIABLE,))


def read_forced_acceptance(text: str) -> str | None:
    """Return the same of a line that prints the environment, as scripts and containers do."""
    match = _IN_LOG.search(text)
    return forcing_variable({VARIABLE: match[1]}, (VARIABLE,)) if match else None
