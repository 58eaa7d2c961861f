"""The README's queries run on a published file."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from settings import Settings
from storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
QUERIES = re.findall(r"```sql\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"))
    Store.open(settings).close()
    return settings.published_path


def test_there_are_five() -> None:
    assert len(QUERIES) >= 5


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.splitlines()[0][:40])
def test_it_runs(published: Path, query: str) -> None:
    with duckdb.connect(str(published), read_only=True) as connection:
        assert connection.sql(query).columns
