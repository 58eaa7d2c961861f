-- Fully sealed files of ended runs, by table and columns, in run order. A file with rows of a deleted run waits until
-- those rows are removed.
SELECT table_name, schema_number, coalesce(merged_path, path) AS file, min(run_id) AS first_run,
    max(run_id) AS last_run, sum(row_count)::BIGINT AS rows
FROM raw.sealed_files
WHERE lost_reason IS NULL AND run_id IS NOT NULL
GROUP BY ALL
HAVING bool_and(run_id IN (SELECT id FROM raw.runs WHERE ended_at < $settled))
ORDER BY table_name, schema_number, first_run, file
