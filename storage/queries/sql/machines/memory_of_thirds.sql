-- Mean memory of each GPU of a run in the first and the last third of a window: of the run's own processes if every
-- sample has it, else of all.
WITH samples AS (
    SELECT gpu_index, memory_used_bytes, process_memory_bytes,
        (epoch(ts) - epoch($began_at::TIMESTAMPTZ))
            / (epoch($ended_at::TIMESTAMPTZ) - epoch($began_at::TIMESTAMPTZ)) AS place
    FROM gpu_samples_of([$run_id])
    WHERE ts BETWEEN $began_at::TIMESTAMPTZ AND $ended_at::TIMESTAMPTZ
),
usage AS (
    SELECT *, bool_and(process_memory_bytes IS NOT NULL) OVER (PARTITION BY gpu_index) AS is_process
    FROM samples WHERE place <= 1/3 OR place >= 2/3
)
SELECT gpu_index, is_process,
    avg(CASE WHEN is_process THEN process_memory_bytes ELSE memory_used_bytes END) FILTER (place <= 1/3) AS first_bytes,
    avg(CASE WHEN is_process THEN process_memory_bytes ELSE memory_used_bytes END) FILTER (place >= 2/3) AS last_bytes,
    (epoch($ended_at::TIMESTAMPTZ) - epoch($began_at::TIMESTAMPTZ)) * 2 / 3 / 3600 AS hours
FROM usage GROUP BY gpu_index, is_process
HAVING first_bytes IS NOT NULL AND last_bytes IS NOT NULL
ORDER BY gpu_index
