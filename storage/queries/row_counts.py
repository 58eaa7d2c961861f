"""Row counts of runs, which show whether a computed value covers all of a run's data."""

from __future__ import annotations

from collections.abc import Sequence

from storage.queries.run_data import Queryable
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


def stored_row_counts(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the row count of each run's sample tables, sealed or not; empty tables are left out.

    Sealing and merging do not change these counts, and rows are only ever added to a run.
    """
    counts_by_run: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
    for row in store.query(_STORED, {"run_ids": list(run_ids)}).to_pylist():
        counts_by_run[row["run_id"]][row["table_name"]] = row["n"]
    return counts_by_run
