"""How much is stored of some runs: by it what was computed of a run is known to be of all of it."""

from __future__ import annotations

from collections.abc import Sequence

from storage.ask.queries import Asked
from storage.rows import TIME_COLUMNS

_SEALED = """
    SELECT run_id, table_name, sum(row_count)::BIGINT AS n FROM raw.sealed_files
    WHERE list_contains($run_ids, run_id) AND lost_reason IS NULL GROUP BY ALL
"""
_HOT = "SELECT run_id, '{table}', count(*) FROM raw.{table} WHERE list_contains($run_ids, run_id) GROUP BY ALL"
_STORED = f"""
    SELECT run_id, table_name, sum(n)::BIGINT AS n
    FROM ({" UNION ALL ".join([_SEALED, *(_HOT.format(table=table) for table in TIME_COLUMNS)])})
    GROUP BY ALL ORDER BY ALL
"""


def rows_stored(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """The rows of each sample table of each run, sealed or not; a table without any is left out.

    Sealing and merging change none of these counts, and rows are only ever added to a run.
    """
    found: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
    for row in store.query(_STORED, {"run_ids": list(run_ids)}).to_pylist():
        found[row["run_id"]][row["table_name"]] = row["n"]
    return found
