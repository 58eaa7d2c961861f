"""Prices that cannot be computed with are named, and stop no page."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.runs.prices import PriceFileError, Prices, prices_of, save_prices


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "9" * 5000, "[" * 5000, f"0x{'f' * 5000}"])
def test_unusable_price_is_a_sentence(tmp_path: Path, value: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f'currency = "EUR"\n[machine.default]\nper_hour = {value}\n')
    prices = prices_of(path, "m")
    assert prices.per_hour is None
    assert prices.problem and prices.problem.startswith("prices.toml") and prices.problem.endswith(".")


def test_prices_of_other_machines_stay(tmp_path: Path) -> None:
    path = tmp_path / "data" / "prices.toml"
    save_prices(path, "a", Prices("EUR", 2.5, None))
    save_prices(path, "b", Prices("EUR", None, 0.3))
    assert prices_of(path, "a") == Prices("EUR", 2.5, None) and prices_of(path, "b") == Prices("EUR", None, 0.3)
    assert path.stat().st_mode & 0o077 == 0


def test_unreadable_file_is_not_overwritten(tmp_path: Path) -> None:
    (path := tmp_path / "prices.toml").write_text("currency = ")
    with pytest.raises(PriceFileError, match="not a readable TOML file"):
        save_prices(path, "a", Prices("EUR", 2.5, None))
    assert path.read_text() == "currency = "
