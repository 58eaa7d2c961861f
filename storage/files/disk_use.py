"""Disk usage of each run: its folder with the log, and its sealed rows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from settings import Settings
from storage.queries.run_data import Queryable

_PARTS = """
    SELECT run_id, coalesce(merged_path, path) AS file, sum(row_count)::BIGINT AS rows FROM raw.sealed_files
    WHERE run_id IS NOT NULL AND lost_reason IS NULL GROUP BY ALL
"""


def disk_use(store: Queryable, settings: Settings) -> dict[str, int]:
    """Return bytes by run; files shared by several runs are divided by their rows.

    Rows not sealed yet (a few minutes) are not counted. Deleted runs are included until they are removed.
    """
    bytes_by_run: defaultdict[str, int] = defaultdict(int)
    parts = store.query(_PARTS).to_pylist()
    rows_in: defaultdict[str, int] = defaultdict(int)
    for part in parts:
        rows_in[part["file"]] += part["rows"]
    sizes = {file: _size(settings.parquet_dir / file) for file in rows_in}
    for part in parts:
        bytes_by_run[part["run_id"]] += round(sizes[part["file"]] * part["rows"] / max(rows_in[part["file"]], 1))
    ids = store.query("SELECT id FROM raw.runs UNION SELECT run_id FROM raw.deleted_runs")
    for run_id in ids["id"].to_pylist():
        bytes_by_run[run_id] += folder_bytes(settings.runs_dir / run_id)
    return dict(bytes_by_run)


def folder_bytes(folder: Path) -> int:
    """Return the total size of all regular files below a folder; 0 if it does not exist."""
    return sum(_size(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
