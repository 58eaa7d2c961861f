"""Switches that force a server to accept drafts: for tests of an engine, with text that is not the model's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from domain import Config
from engines.flag_table import words_of_flag

FACT = "forced_acceptance"  # startup fact of a log: the switch
ForcedAcceptance = Callable[[Config], str | None]


def forced_sentence(switch: str) -> str:
    """Return what a forced acceptance means for its numbers."""
    return (
        f"Draft acceptance is forced by {switch}: the text is not the model's and the speed is not real, so the run is "
        "never ranked."
    )


def forcing_variable(env: Mapping[str, str], names: Iterable[str]) -> str | None:
    """Return the first of these variables that is a positive number, with its value: 'NAME=3.5'."""
    return next((f"{name}={env[name]}" for name in names if _is_positive(env.get(name))), None)


def forcing_flag(unknown_flags: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the first of these flags that is set, with its value: '--flag 3.5'."""
    flag_names = set(names)
    for text in unknown_flags:
        words = words_of_flag(text)
        name, _, glued = words[0].partition("=")
        if name in flag_names:
            return " ".join([name, *filter(None, [glued]), *words[1:]])
    return None


def _is_positive(text: str | None) -> bool:
    """Whether a variable switches it on: engines ignore 0, -1 and an empty value."""
    try:
        return float(text or "0") > 0
    except ValueError:
        return True  # a reference such as '${LENGTH}', or a list
