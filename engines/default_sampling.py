"""Sampling parameters that a server takes from the model's files, as its log prints them."""

from __future__ import annotations

import re

from domain import JsonValue
from engines.arguments import read_dict

FACT = "default_sampling"  # startup fact of a log: name -> value


def read_default_sampling(pattern: re.Pattern[str], text: str) -> dict[str, JsonValue]:
    """Return the fact of a line whose group `dict` is the printed mapping; empty if it is another line."""
    match = pattern.search(text)
    parameters = read_dict(match["dict"]) if match else None
    return {FACT: parameters} if parameters else {}
