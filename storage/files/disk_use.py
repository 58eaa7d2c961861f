"""How many bytes of the disk each run takes: its folder with the log, and its sealed rows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from settings import Settings
from storage.ask.queries import Asked

_PARTS = """
    SELECT run_id, coalesce(merged_path, path) AS file, sum(row_count)::BIGINT AS rows FROM raw.sealed_files
    WHERE run_id IS NOT NULL AND lost_reason IS NULL GROUP BY ALL
"""


def disk_use(store: Asked, settings: Settings) -> dict[str, int]:
    """Bytes by run; of a file that several runs share each has its share by rows. Rows that are not sealed yet, a few
    minutes' worth, are not counted. Deleted runs are in it until they are gone."""
    used: defaultdict[str, int] = defaultdict(int)
    parts = store.query(_PARTS).to_pylist()
    rows_in: defaultdict[str, int] = defaultdict(int)
    for part in parts:
        rows_in[part["file"]] += part["rows"]
    sizes = {file: _size(settings.parquet_dir / file) for file in rows_in}
    for part in parts:
        used[part["run_id"]] += round(sizes[part["file"]] * part["rows"] / max(rows_in[part["file"]], 1))
    known = store.query("SELECT id FROM raw.runs UNION SELECT run_id FROM raw.deleted_runs")
    for run_id in known["id"].to_pylist():
        used[run_id] += folder_bytes(settings.runs_dir / run_id)
    return dict(used)


def folder_bytes(folder: Path) -> int:
    """The bytes of all plain files below a folder; 0 where there is none."""
    return sum(_size(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
