"""A lake on a real PostgreSQL and a real S3 server, a database and a folder of its own for every test."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from machine.private_files import write_private
from settings import Settings
from storage.lake.config import S3, LakeConfig
from storage.lake.connection import opened_lake
from storage.lake.layout import make_lake, required_columns
from storage.store import Store
from tests.storage.lake.boxes import Box, lake_toml
from tests.storage.lake.servers import KEYS, Postgres, S3Server

NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def published_where_it_is_read() -> None:
    """All stores here do."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Not in pytest's own folder: every start of a pytest closes that to the user postgres."""
    with tempfile.TemporaryDirectory(prefix="pitwall-postgres-") as name:
        Path(name).chmod(0o755)
        server = Postgres(Path(name) / "cluster")
        yield server
        server.stop_hard()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3") / "weed")
    yield server
    server.stop_hard()


@pytest.fixture
def config(postgres: Postgres, s3: S3Server) -> LakeConfig:
    """An empty database and a folder of the bucket that nobody else uses."""
    name = f"lake{next(NUMBERS)}"
    postgres.run(f"CREATE DATABASE {name}")
    key_id, secret = KEYS["rw"]
    files = S3(endpoint=f"127.0.0.1:{s3.port}", key_id=key_id, secret=secret, use_ssl=False)
    return LakeConfig(catalogue=postgres.dsn(name), data_path=f"s3://pitwall/{name}/", s3=files)


@pytest.fixture
def boxes(tmp_path: Path, config: LakeConfig) -> Iterator[Callable[[str], Box]]:
    """Makes a Pitwall's data folder by name, with the lake's configuration; the first one makes the lake."""
    opened: list[Store] = []

    def make(name: str) -> Box:
        settings = Settings(data_dir=tmp_path / name)
        store = Store.open(settings)
        opened.append(store)
        write_private(settings.lake_path, lake_toml(config).encode())
        if len(opened) == 1:
            with opened_lake(config) as connection:
                make_lake(connection, required_columns(store.query))
        return Box(name, settings, store, config)

    yield make
    for store in opened:
        store.close()
