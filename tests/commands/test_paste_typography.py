"""Hyphens and quotes of a command that word processors and messengers changed are restored."""

from __future__ import annotations

import pytest

from commands.explain import explain
from domain import Speculation


@pytest.mark.parametrize("dash", ["–-", "-–", "—", "–", "−−"])
def test_long_dash_becomes_two_hyphens(dash: str) -> None:
    assert explain(f"vllm serve m {dash}max-model-len 8192").config.max_model_len == 8192


def test_curly_quotes_around_straight_quoted_json() -> None:
    read = explain('vllm serve m --speculative-config “{"method": "mtp", "num_speculative_tokens": 2}”')
    assert read.config.speculative == Speculation(method="mtp", num_tokens=2)
