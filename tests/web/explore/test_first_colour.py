"""Explore's first colours are of what the runs differ in most."""

from __future__ import annotations

import pytest

from storage.queries.run_queries import RunChoices
from web.explore.controls import most_varied_field
from web.theme import HUE_COUNT


@pytest.mark.parametrize(
    ("fields", "engines", "expected"),
    [
        ({"quantization": ("a", "b"), "kv": ("1", "2", "3")}, ("vllm",), "kv"),
        ({"quantization": ("a", "b")}, ("vllm", "sglang", "llamacpp"), "engine"),
        ({"model": tuple(map(str, range(HUE_COUNT + 1))), "kv": ("1", "2")}, ("vllm",), "kv"),
        ({"k": ("0", "2", "4"), "quantization": ("a", "b")}, ("vllm",), "quantization"),
        ({}, ("vllm",), "quantization"),
    ],
    ids=["most values", "engines too", "no more than there are hues", "not the X axis again", "none differ"],
)
def test_first_colour(fields: dict[str, tuple[str, ...]], engines: tuple[str, ...], expected: str) -> None:
    assert most_varied_field(RunChoices(1, engines, (), (), fields=fields)) == expected
