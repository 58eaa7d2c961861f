"""Documents that tomllib refuses with other exceptions than its own, or reads although nothing can print them."""

from __future__ import annotations

import tomllib

import pytest

from machine.toml_text import parse_toml


@pytest.mark.parametrize(
    "value", ["9" * 5000, "[" * 5000 + "]" * 5000, f"0x{'f' * 5000}", f"[{{a = 0x{'f' * 17}}}]", "2026-02-30", "["]
)
def test_unusable_value_is_refused(value: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        parse_toml(f"a = {value}\n")


def test_ordinary_document_is_read() -> None:
    assert parse_toml("a = 9223372036854775807\n[b]\nc = [1.5]") == {"a": 9223372036854775807, "b": {"c": [1.5]}}
