"""llama.cpp's synthetic acceptance, which flags and their environment variables set."""

from __future__ import annotations

from domain import Config
from engines.forced_acceptance import forcing_flag, forcing_variable

FLAGS = ("--spec-synth-len", "--spec-synth-rates")
VARIABLES = ("LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES")
_IN_LOG = "synthetic speculative acceptance is enabled"


def forced_acceptance(config: Config) -> str | None:
    """Return the flag or variable with its value: '--spec-synth-len 2.5'."""
    return forcing_flag(config.unknown_flags, FLAGS) or forcing_variable(config.env, VARIABLES)


def read_forced_acceptance(text: str) -> str | None:
    """Return the switch if this line of the log says that it is set."""
    return "synthetic speculative acceptance" if _IN_LOG in text else None
