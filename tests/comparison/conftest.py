"""A store in a folder of its own, and samples to put into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from settings import Settings
from storage.store import Store


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store.open(settings)
    yield opened
    opened.close()
