-- The filter choices of ended runs; fields: the distinct values of each further field.
SELECT
    count(*) AS runs,
    count(*) FILTER (n.is_archived) AS archived,
    list(DISTINCT r.engine ORDER BY r.engine) FILTER (r.engine IS NOT NULL) AS engines,
    list(DISTINCT coalesce(r.workload, 'watch') ORDER BY coalesce(r.workload, 'watch')) AS workloads,
    list(DISTINCT r.kind ORDER BY r.kind) AS kinds,
    (SELECT list(DISTINCT tag ORDER BY tag) FROM (SELECT unnest(tags) AS tag FROM run_notes)) AS tags,
    coalesce(
        list(DISTINCT r.machine_id ORDER BY r.machine_id) FILTER (NOT starts_with(r.machine_id, 'unknown-')), []
    ) AS machines,
    {fields}
FROM runs r LEFT JOIN run_notes_of(NULL) n USING (run_id) WHERE list_contains(['finished', 'failed'], r.state)
