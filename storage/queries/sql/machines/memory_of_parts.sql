-- Mean memory of each GPU of a run in equal parts of a window, the earliest first: of the run's own processes if every
-- sample has it, else of all. Parts without a sample are left out.
WITH samples AS (
    SELECT gpu_index, memory_used_bytes, process_memory_bytes,
        least($parts - 1, floor($parts * (epoch(ts) - epoch($began_at::TIMESTAMPTZ))
            / (epoch($ended_at::TIMESTAMPTZ) - epoch($began_at::TIMESTAMPTZ)))) AS part
    FROM gpu_samples_of([$run_id])
    WHERE ts BETWEEN $began_at::TIMESTAMPTZ AND $ended_at::TIMESTAMPTZ
),
usage AS (
    SELECT *, bool_and(process_memory_bytes IS NOT NULL) OVER (PARTITION BY gpu_index) AS is_process FROM samples
),
means AS (
    SELECT gpu_index, is_process, part,
        avg(CASE WHEN is_process THEN process_memory_bytes ELSE memory_used_bytes END) AS mean_bytes
    FROM usage GROUP BY gpu_index, is_process, part
)
SELECT gpu_index, is_process, list(mean_bytes ORDER BY part) AS part_bytes,
    (epoch($ended_at::TIMESTAMPTZ) - epoch($began_at::TIMESTAMPTZ)) / 3600 AS hours
FROM means WHERE mean_bytes IS NOT NULL GROUP BY gpu_index, is_process
HAVING max(part) >= $parts * 2 // 3 AND min(part) < $parts // 3
ORDER BY gpu_index
