"""SGLang's simulated acceptance, which an environment variable switches on."""

from __future__ import annotations

import re

from domain import Config
from engines.forced_acceptance import forcing_variable

VARIABLES = ("SGLANG_SIMULATE_ACC_LEN", "SIMULATE_ACC_LEN")  # the latter until 0.5
_IN_LOG = re.compile(r"\b((?:SGLANG_)?SIMULATE_ACC_LEN)['\"]?(?:=|: ?)['\"]?(\d[\d.]*)")


def forced_acceptance(config: Config) -> str | None:
    """Return the variable with its value: 'SGLANG_SIMULATE_ACC_LEN=3.5'."""
    return forcing_variable(config.env, VARIABLES)


def read_forced_acceptance(text: str) -> str | None:
    """Return the same of a line that prints the environment, as scripts and containers do."""
    match = _IN_LOG.search(text)
    return forcing_variable({match[1]: match[2]}, VARIABLES) if match else None
