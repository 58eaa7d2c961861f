"""Words for a setting and its value in the names of arms and runs."""

from __future__ import annotations

from domain import JsonValue

WORDS = {None: "unset", True: "on", False: "off"}


def setting_text(path: str, value: JsonValue) -> str:
    """Return 'num_tokens 4', 'prefix_caching on' or 'max_model_len unset'; path: 'speculative.num_tokens'."""
    word = WORDS[value] if value is None or isinstance(value, bool) else value
    return f"{path.rpartition('.')[2]} {word}"
