"""SQL over the lake: the rows of all boxes, and no way to anything else, whatever a statement says.

Behind the check of the statement stand DuckDB's settings, the rights of role and key, and a network of two ports; each
is attacked with the check taken down.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from machine.private_files import write_private
from machine.run_with_timeout import run_bounded
from storage.lake.config import LakeConfig, Reader
from storage.lake.connection import opened_lake
from storage.lake.layout import make_lake, wanted_columns
from storage.sandbox.client import Ended
from storage.sandbox.job import Fault, SqlRefusedError
from storage.sandbox.lake.client import LakeSandbox
from tests.lake.boxes import Box, assert_whole, lake_toml
from tests.lake.servers import KEYS, Postgres

pytestmark = pytest.mark.lake

Boxes = Callable[[str], Box]
ROLE_WORD = "the-reader's pass word"


@pytest.fixture
def asked(boxes: Boxes, config: LakeConfig, postgres: Postgres) -> tuple[LakeSandbox, LakeConfig]:
    """Two boxes that have shipped; the first asks, with a role and a key that may only read."""
    one, two = boxes("one"), boxes("two")
    one.add_runs("a", 2)
    two.add_runs("b", 1)
    for box in (one, two):
        box.ship()
    name = config.data_path.rstrip("/").rpartition("/")[2]
    escaped = ROLE_WORD.replace("'", "''")
    postgres.run(f"CREATE ROLE sql_{name} LOGIN PASSWORD '{escaped}'")
    with opened_lake(config) as connection:
        make_lake(connection, wanted_columns(one.store.query), f"sql_{name}")
    in_dsn = "'" + ROLE_WORD.replace("'", "\\'") + "'"
    key_id, secret = KEYS["ro"]
    reader = Reader(catalogue=postgres.dsn(name, f"sql_{name}", in_dsn), key_id=key_id, secret=secret)
    words = reader.catalogue.replace("\\", "\\\\")
    text = lake_toml(config) + f'[reader]\ncatalogue = "{words}"\nkey_id = "{key_id}"\nsecret = "{secret}"\n'
    write_private(one.settings.lake_path, text.encode())
    return LakeSandbox(one.settings, run_bounded), config.model_copy(update={"reader": reader})


def secrets_of(config: LakeConfig) -> list[str]:
    assert config.s3 and config.reader
    own = config.catalogue.partition("password=")[2]
    return [own, config.s3.key_id, config.s3.secret, ROLE_WORD, config.reader.key_id, config.reader.secret]


def test_the_views_answer_about_all_boxes(asked: tuple[LakeSandbox, LakeConfig]) -> None:
    sandbox, _ = asked
    rows = sandbox.ask("SELECT run_id, machine_id FROM runs ORDER BY run_id").table.to_pylist()
    assert rows == [
        {"run_id": "a000", "machine_id": "machine-of-one"},
        {"run_id": "a001", "machine_id": "machine-of-one"},
        {"run_id": "b000", "machine_id": "machine-of-two"},
    ]
    counted = (
        "SELECT run_id, count(*) AS n, sum(completion_tokens) AS tokens FROM requests_of(['b000']) GROUP BY run_id"
    )
    assert sandbox.ask(counted).table.to_pylist() == [{"run_id": "b000", "n": 30, "tokens": 1500}]
    assert sandbox.ask("FROM run_windows(2, run_ids := ['a000'])").table.num_columns > 10


WITHOUT_THE_CHECK = """
import sys
import storage.sandbox.lake.__main__ as entry
from storage.sandbox.lake import network
missing = sys.argv[1:]
def prepared():
    is_apart = "network" not in missing and network.isolate()
    import storage.sandbox.answering as common
    import storage.sandbox.lake.answering as lake
    common.check_statement = lambda connection, sql: None
    if "settings" in missing:
        lake.close_settings = lambda connection, config: None
    if "kernel" in missing:
        lake.confine_files = lambda paths, ports: True
    return is_apart
entry.can_isolate, entry.isolate = lambda: True, prepared
entry.main()
"""


def behind_the_check(asked: tuple[LakeSandbox, LakeConfig], sql: str, *missing: str) -> str:
    """What becomes of a statement that got past the check, with other walls missing too."""

    def run(argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float) -> Ended:
        return run_bounded([sys.executable, "-c", WITHOUT_THE_CHECK, *missing], cwd, environ, stdin, timeout_s)

    try:
        return f"DONE {LakeSandbox(asked[0].settings, run).ask(sql).table.to_pylist()}"
    except SqlRefusedError as refusal:
        return f"REFUSED {refusal}"
