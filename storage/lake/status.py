"""The status of the lake: shipped and waiting data of a data folder, and SQL for other readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from storage.lake.backlog import SealedPart
from storage.lake.config import LakeConfig
from storage.lake.connection import LAKE
from storage.lake.layout import MACHINE_TABLES, RECORDS
from storage.queries.literals import quoted


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """Counts for this data folder; `all_*` for all data folders."""

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


def lake_status(connection: duckdb.DuckDBPyConnection, owner: str, waiting: Sequence[SealedPart]) -> LakeStatus:
    """Return the status from the ledger and the backlog."""
    own_filter = f"owner = {quoted(owner)}"
    part_filter = f"table_name NOT IN ({', '.join(map(quoted, RECORDS))})"
    run_filter = f"table_name NOT IN ({', '.join(map(quoted, MACHINE_TABLES))})"
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT count(DISTINCT run_id) FILTER ({own_filter} AND {run_filter}), "
        f"count(*) FILTER ({own_filter} AND {part_filter}), "
        f"coalesce(sum(row_count) FILTER ({own_filter} AND {part_filter}), 0)::BIGINT, "
        f"max(shipped_at) FILTER ({own_filter}), "
        f"count(DISTINCT run_id) FILTER ({run_filter}), count(DISTINCT owner), count(*) FILTER ({part_filter}) "
        f"FROM {LAKE}.shipments"
    ).fetchone()
    assert row is not None
    waiting_rows = sum(part.row_count for part in waiting)
    runs, parts, rows, last, all_runs, all_owners, all_parts = row
    return LakeStatus(
        owner, runs, parts, rows, last, all_runs, all_owners, all_parts,
        len({part.run_id for part in waiting}), len(waiting), waiting_rows,
    )  # fmt: skip


def attach_statements(config: LakeConfig) -> str:
    """Return the SQL with which another DuckDB attaches the lake, with a read-only role and key."""
    lines = ["INSTALL ducklake; INSTALL postgres; INSTALL httpfs;"]
    if s3 := config.s3:
        lines.append(
            f"CREATE SECRET (TYPE s3, KEY_ID '<reader key>', SECRET '<reader secret>', ENDPOINT {quoted(s3.endpoint)}, "
            f"REGION {quoted(s3.region)}, URL_STYLE 'path', USE_SSL {str(s3.use_ssl).lower()});"
        )
    dsn = " ".join(
        setting
        for setting in config.address.split()
        if setting.partition("=")[0] in ("host", "port", "dbname", "sslmode")
    )
    lines.append(f"ATTACH 'ducklake:postgres:{dsn} user=<reader> password=<password>' AS lake (READ_ONLY);")
    return "\n".join(lines)
