"""How SGLang was started, as its log says it: `server_args=`, all arguments, a dataclass or (0.5.2x) a dict."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.arguments import argument_name, read_pairs, words_of
from engines.sglang.flags import KEYS

NEEDLES = re.compile(rb"server_args=")
_NAMES = frozenset(argument_name(flag) for flag in KEYS)


def read_arguments(texts: Sequence[str]) -> list[str]:
    """The words that the last start's `server_args=` states; a switch that is off is the default and not said."""
    lines = [text for text in texts if "server_args=" in text]
    if not lines:
        return []
    stated = read_pairs(lines[-1].partition("server_args=")[2], _NAMES)
    return words_of({name: value for name, value in stated.items() if value is not False})
