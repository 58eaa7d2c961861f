"""Start arguments of SGLang from its log: `server_args=` with all arguments, a dataclass or (0.5.2x) a dict."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.arguments import argument_name, read_pairs, to_argv
from engines.sglang.flags import KEYS

NEEDLES = re.compile(rb"server_args=")
_NAMES = frozenset(argument_name(flag) for flag in KEYS)


def read_arguments(texts: Sequence[str]) -> list[str]:
    """Return the words that the last start's `server_args=` states, without switches that are off by default."""
    lines = [text for text in texts if "server_args=" in text]
    if not lines:
        return []
    arguments = read_pairs(lines[-1].partition("server_args=")[2], _NAMES)
    return to_argv({name: value for name, value in arguments.items() if value is not False})
