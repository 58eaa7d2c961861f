"""How much of a data folder is in the lake and how much waits, and how other programs read the lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from storage.ask.literals import quoted
from storage.lake.backlog import Part
from storage.lake.config import LakeConfig
from storage.lake.connection import LAKE
from storage.lake.layout import OF_MACHINES, RECORDS


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """`all_*` count every data folder's, the rest this one's."""

    owner: str
    runs: int
    parts: int
    rows: int
    last_shipped_at: datetime | None
    all_runs: int
    all_owners: int
    all_parts: int
    waiting_runs: int
    waiting_parts: int
    waiting_rows: int


def lake_status(connection: duckdb.DuckDBPyConnection, owner: str, waiting: Sequence[Part]) -> LakeStatus:
    """As the ledger and the backlog have it."""
    own = f"owner = {quoted(owner)}"
    part = f"table_name NOT IN ({', '.join(map(quoted, RECORDS))})"
    of_run = f"table_name NOT IN ({', '.join(map(quoted, OF_MACHINES))})"
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT count(DISTINCT run_id) FILTER ({own} AND {of_run}), count(*) FILTER ({own} AND {part}), "
        f"coalesce(sum(row_count) FILTER ({own} AND {part}), 0)::BIGINT, max(shipped_at) FILTER ({own}), "
        f"count(DISTINCT run_id) FILTER ({of_run}), count(DISTINCT owner), count(*) FILTER ({part}) "
        f"FROM {LAKE}.shipments"
    ).fetchone()
    assert row is not None
    waiting_rows = sum(one.row_count for one in waiting)
    runs, parts, rows, last, all_runs, all_owners, all_parts = row
    return LakeStatus(
        owner, runs, parts, rows, last, all_runs, all_owners, all_parts,
        len({one.run_id for one in waiting}), len(waiting), waiting_rows,
    )  # fmt: skip


def attach_statements(config: LakeConfig) -> str:
    """What another reader types into DuckDB, with a role and a key that may only read."""
    lines = ["INSTALL ducklake; INSTALL postgres; INSTALL httpfs;"]
    if s3 := config.s3:
        lines.append(
            f"CREATE SECRET (TYPE s3, KEY_ID '<reader key>', SECRET '<reader secret>', ENDPOINT {quoted(s3.endpoint)}, "
            f"REGION {quoted(s3.region)}, URL_STYLE 'path', USE_SSL {str(s3.use_ssl).lower()});"
        )
    place = " ".join(
        word for word in config.address.split() if word.partition("=")[0] in ("host", "port", "dbname", "sslmode")
    )
    lines.append(f"ATTACH 'ducklake:postgres:{place} user=<reader> password=<password>' AS lake (READ_ONLY);")
    return "\n".join(lines)
