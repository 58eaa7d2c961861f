-- Each GPU of a run within each stretch, from the sample nearest to its beginning to the one nearest to its end, at most
-- `edge_s` outside. The clock is that of the moments in which a kernel ran.
WITH stretches AS (
    SELECT unnest(range(len($run_ids))) AS stretch, unnest($run_ids) AS run_id,
        unnest($began_at::TIMESTAMPTZ[]) AS began_at, unnest($ended_at::TIMESTAMPTZ[]) AS ended_at
),
chosen AS (
    SELECT *,
        arg_min(ts, abs(epoch(ts) - epoch(began_at))) OVER of_gpu AS first_at,
        arg_min(ts, abs(epoch(ts) - epoch(ended_at))) OVER of_gpu AS last_at
    FROM gpu_samples_of($run_ids) JOIN stretches USING (run_id)
    WHERE ts BETWEEN began_at - to_seconds($edge_s) AND ended_at + to_seconds($edge_s)
    WINDOW of_gpu AS (PARTITION BY stretch, gpu_index)
),
steps AS (
    SELECT *,
        mono_s - lag(mono_s) OVER before AS step_s,
        energy_j_total - lag(energy_j_total) OVER before AS counted_j,
        (power_w + lag(power_w) OVER before) / 2 * (mono_s - lag(mono_s) OVER before) AS drawn_j
    FROM chosen WHERE ts BETWEEN first_at AND last_at
    WINDOW before AS (PARTITION BY stretch, gpu_index ORDER BY ts)
)
SELECT stretch, gpu_index, count(*) AS samples, min(ts) AS first_at, max(ts) AS last_at,
    arg_max(gpu_name, ts) AS gpu_name, arg_max(gpu_uuid, ts) AS gpu_uuid,
    sum(step_s) AS covered_s,
    CASE WHEN min(counted_j) >= 0 AND count(counted_j) = count(step_s) THEN sum(counted_j) END AS counted_j,
    CASE WHEN count(drawn_j) = count(step_s) THEN sum(drawn_j) END AS drawn_j,
    bit_or(throttle_reasons) AS throttle_bits,
    median(sm_clock_mhz) FILTER (coalesce(utilization_ratio, 1) > 0) AS sm_clock_mhz,
    max(sm_clock_max_mhz) AS sm_clock_max_mhz,
    max(other_memory_bytes) AS other_memory_bytes,
    avg(other_utilization_ratio) AS other_utilization,
    arg_max(unknown, ts) AS unknown
FROM steps GROUP BY stretch, gpu_index ORDER BY stretch, gpu_index
