"""vLLM's synthetic rejection sampling, as `--speculative-config` sets it and the log prints it."""

from __future__ import annotations

import re

from domain import Config

METHOD = "rejection_sample_method"
SYNTHETIC = "synthetic"
_OPTION = re.compile(r"synthetic_acceptance_\w+")
_IN_LOG = re.compile(rf"speculative[-_]config.*?{METHOD}['\"]?(?:=|: ?)['\"]?{SYNTHETIC}\b")
_LENGTH_IN_LOG = re.compile(r"(synthetic_acceptance_(?:length|rates?))['\"]?(?:=|: ?)(\[[^\]]{0,200}\]|[\d.]+)")


def forced_acceptance(config: Config) -> str | None:
    """Return the keys of the speculative configuration that force acceptance: 'rejection_sample_method synthetic'."""
    options = config.speculative.options if config.speculative else {}
    names = [name for name, value in options.items() if _OPTION.fullmatch(name) and value is not None]
    if options.get(METHOD) != SYNTHETIC and not names:
        return None
    return ", ".join([f"{METHOD} {SYNTHETIC}", *(f"{name} {options[name]}" for name in names)])


def read_forced_acceptance(text: str) -> str | None:
    """Return the same of a line of the log that prints the arguments."""
    if _IN_LOG.search(text) is None:
        return None
    return ", ".join([f"{METHOD} {SYNTHETIC}", *(f"{name} {value}" for name, value in _LENGTH_IN_LOG.findall(text))])
