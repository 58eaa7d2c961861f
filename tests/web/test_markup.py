"""Configured values as people read them."""

from __future__ import annotations

import pytest

from web.markup import setting


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("kv_cache_tokens", 868080, "868,080\u00a0tokens"),
        ("model_load_gib", 20.670949, "20.67\u00a0GiB"),
        ("model_load_s", 7.0, "7\u00a0s"),
        ("kv_cache_bytes", 2**30, "1.00 GiB"),
        ("max_model_len", 32768, "32768"),
        ("kv_cache_tokens", "auto", "auto"),
        ("has_tokens", True, "True"),
    ],
)
def test_numbers_have_the_unit_of_their_name(key: str, value: object, text: str) -> None:
    assert setting(key, value) == text
