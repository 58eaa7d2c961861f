"""One store for the stand-ins of a module, and a door for texts as people publish them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from tests.known_truth.import_door import PlayedStore

SEED = 20261127
ImportText = Callable[[str], str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedStore]:
    opened = PlayedStore(tmp_path_factory.mktemp("recreate"), SEED)
    yield opened
    opened.close()


@pytest.fixture
def import_text(played: PlayedStore, tmp_path: Path) -> ImportText:
    """Import a text as `./pitwall import` does; returns the id of its run."""

    def import_text(text: str) -> str:
        path = tmp_path / "document.md"
        path.write_text(text, encoding="utf-8")
        importer = ResultImporter(played.store, lambda: datetime(2026, 11, 27, tzinfo=UTC))
        (run_id,) = importer.import_results(path, ImportOptions(path.name), lambda share: None).run_ids
        return run_id

    return import_text
