"""The most tokens of a verified draft, by what each engine's setting counts."""

from __future__ import annotations

import pytest

from engines import max_acceptance_length


@pytest.mark.parametrize(
    ("engine", "draft_tokens", "most"),
    [("sglang", 6, 6), ("vllm", 4, 5), ("llamacpp", 16, 17), ("trtllm", 3, 4), ("unknown", 2, 3), ("vllm", None, None)],
)
def test_maximum_follows_the_engine(engine: str, draft_tokens: int | None, most: int | None) -> None:
    """SGLang with 5 steps verifies 6 tokens, of which the target model's own is one."""
    assert max_acceptance_length(engine, draft_tokens) == most
