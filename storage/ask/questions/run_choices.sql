-- What the runs that have ended can be filtered by.
SELECT
    count(*) AS runs,
    count(*) FILTER (n.is_archived) AS archived,
    list(DISTINCT config->>'$.engine' ORDER BY config->>'$.engine') AS engines,
    list(DISTINCT coalesce(workload->>'$.name', 'watch') ORDER BY coalesce(workload->>'$.name', 'watch')) AS workloads,
    list(DISTINCT kind ORDER BY kind) AS kinds,
    (SELECT list(DISTINCT tag ORDER BY tag) FROM (SELECT unnest(tags) AS tag FROM run_notes)) AS tags,
    coalesce(
        list(DISTINCT machine_id ORDER BY machine_id) FILTER (NOT starts_with(machine_id, 'unknown-')), []
    ) AS machines
FROM raw.runs LEFT JOIN run_notes_of(NULL) n ON n.run_id = id WHERE list_contains(['finished', 'failed'], state)
