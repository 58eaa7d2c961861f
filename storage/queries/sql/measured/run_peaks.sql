-- The peaks of each run; of the GPUs only those on which its own processes were seen.
SELECT run_id, max(kv_usage_ratio) AS kv_usage_ratio, sum(held_bytes) / 1024 ** 3 AS gpu_memory_gib
FROM (
    SELECT run_id, max(kv_usage_ratio) AS kv_usage_ratio
    FROM run_samples_since(NULL::TIMESTAMPTZ, run_ids := $run_ids) GROUP BY run_id
    UNION ALL BY NAME
    SELECT run_id, max(process_memory_bytes) AS held_bytes
    FROM gpu_samples_of($run_ids) GROUP BY run_id, machine_id, gpu_index
)
GROUP BY run_id
