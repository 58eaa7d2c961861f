-- The other machines of runs as their agents sampled them: medians over the samples after $since, or over the whole
-- run.
WITH gpus AS (
    SELECT run_id, machine_id, gpu_index, any_value(gpu_name) AS gpu_name, median(power_w) AS power_w,
        median(sm_clock_mhz) AS sm_clock_mhz, median(utilization_ratio) AS utilization_ratio,
        max(memory_used_bytes) AS memory_used_bytes, max(memory_total_bytes) AS memory_total_bytes,
        max(temperature_c) AS temperature_c, max(ts) AS last_at
    FROM gpu_samples_of($run_ids)
    WHERE clock_offset_s IS NOT NULL AND ($since::TIMESTAMPTZ IS NULL OR ts > $since)
    GROUP BY run_id, machine_id, gpu_index
), of_node AS (
    SELECT run_id, machine_id, max(last_at) AS last_at, list({
        'gpu_index': gpu_index, 'gpu_name': gpu_name, 'power_w': power_w, 'sm_clock_mhz': sm_clock_mhz,
        'utilization_ratio': utilization_ratio, 'memory_used_bytes': memory_used_bytes,
        'memory_total_bytes': memory_total_bytes, 'temperature_c': temperature_c
    } ORDER BY gpu_index) AS gpus
    FROM gpus GROUP BY run_id, machine_id
), hosts AS (
    SELECT run_id, machine_id, median(host_cpu_ratio * host_cores) AS cpu_cores, max(host_cores) AS cores,
        median(host_memory_used_bytes) AS memory_used_bytes, max(host_memory_total_bytes) AS memory_total_bytes,
        median(cpu_ratio) AS tree_cpu_cores, median(rss_bytes) AS tree_rss_bytes,
        arg_max(clock_offset_s, ts) AS clock_offset_s, max(clock_uncertainty_s) AS clock_uncertainty_s,
        count(*) AS looks, max(ts) AS last_at
    FROM host_samples_of($run_ids)
    WHERE clock_offset_s IS NOT NULL AND ($since::TIMESTAMPTZ IS NULL OR ts > $since)
    GROUP BY run_id, machine_id
)
SELECT run_id, machine_id, coalesce(gpus, []) AS gpus, cpu_cores, cores, hosts.memory_used_bytes,
    hosts.memory_total_bytes, tree_cpu_cores, tree_rss_bytes, clock_offset_s, clock_uncertainty_s,
    coalesce(looks, 0) AS looks, greatest(of_node.last_at, hosts.last_at) AS last_at
FROM of_node FULL JOIN hosts USING (run_id, machine_id) ORDER BY run_id, machine_id
