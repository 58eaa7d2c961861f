-- The highest GPU memory of each run's own processes, summed over the GPUs on which they were seen.
SELECT run_id, sum(held_bytes) / 1024 ** 3 AS gpu_memory_gib
FROM (
    SELECT run_id, max(process_memory_bytes) AS held_bytes
    FROM gpu_samples_of($run_ids) GROUP BY run_id, machine_id, gpu_index
)
GROUP BY run_id
