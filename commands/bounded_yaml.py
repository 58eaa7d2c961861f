"""Loads foreign YAML with its values as texts, unless it is nested too deeply: the C loader recurses without limit."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
MAX_DEPTH = 100  # manifests of Kubernetes have about ten levels


def load_documents(text: str) -> list[Any]:
    """Return the documents of a text. Raises yaml.YAMLError, or ValueError for more than MAX_DEPTH levels."""
    _check_depth(text)
    return list(yaml.load_all(text, Loader=_LOADER))


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"a value is nested more than {MAX_DEPTH} levels deep")
