"""A store for played runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.known_truth.import_door import PlayedStore

SEED = 20261126


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedStore]:
    opened = PlayedStore(tmp_path, SEED)
    yield opened
    opened.close()
