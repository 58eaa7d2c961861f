"""Prices that cannot be computed with are named, and stop no page."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.runs.prices import prices_of


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "9" * 5000, "[" * 5000, f"0x{'f' * 5000}"])
def test_unusable_price_is_a_sentence(tmp_path: Path, value: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f'currency = "EUR"\n[machine.default]\nper_hour = {value}\n')
    prices = prices_of(path, "m")
    assert prices.per_hour is None
    assert prices.problem and prices.problem.startswith("prices.toml") and prices.problem.endswith(".")
