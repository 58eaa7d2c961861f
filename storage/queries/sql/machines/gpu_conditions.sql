-- Each GPU of a run within each window, from the sample nearest to the window's start to the one nearest to its end, at
-- most `edge_s` outside. Clocks are taken only while a kernel ran. Energy between two samples that straddle an end
-- counts in proportion to the time inside; `covered_s` is the time covered by all samples around the window. Usage by
-- others in the `edge_s` before the window is a separate column, because a busy server hides a small neighbour from the
-- driver.
WITH stretches AS (
    SELECT unnest(range(len($run_ids))) AS stretch, unnest($run_ids) AS run_id,
        unnest($began_at::TIMESTAMPTZ[]) AS began_at, unnest($ended_at::TIMESTAMPTZ[]) AS ended_at
),
samples_in_window AS (
    SELECT *,
        arg_min(ts, abs(epoch(ts) - epoch(began_at))) OVER of_gpu AS first_at,
        arg_min(ts, abs(epoch(ts) - epoch(ended_at))) OVER of_gpu AS last_at
    FROM gpu_samples_of($run_ids) JOIN stretches USING (run_id)
    WHERE ts BETWEEN began_at - to_seconds($edge_s) AND ended_at + to_seconds($edge_s)
    WINDOW of_gpu AS (PARTITION BY stretch, machine_id, gpu_index)
),
steps AS (
    SELECT *, ts BETWEEN first_at AND last_at AS is_in,
        energy_j_total - lag(energy_j_total) OVER by_time AS counted_j,
        (power_w + lag(power_w) OVER by_time) / 2 * (mono_s - lag(mono_s) OVER by_time) AS drawn_j,
        epoch(ts) - epoch(lag(ts) OVER by_time) AS step_s,
        greatest(epoch(least(ts, ended_at)) - epoch(greatest(lag(ts) OVER by_time, began_at)), 0) AS within_s
    FROM samples_in_window WINDOW by_time AS (PARTITION BY stretch, machine_id, gpu_index ORDER BY ts)
),
shares AS (
    SELECT *, CASE WHEN within_s > 0 THEN within_s / step_s END AS share FROM steps
)
SELECT stretch, gpu_index, count(*) FILTER (is_in) AS samples, min(first_at) AS first_at, max(last_at) AS last_at,
    arg_max(gpu_name, ts) AS gpu_name, arg_max(gpu_uuid, ts) AS gpu_uuid,
    sum(within_s) FILTER (share > 0) AS covered_s,
    CASE WHEN min(counted_j) FILTER (share > 0) >= 0 AND count(counted_j * share) = count(share)
        THEN sum(counted_j * share) END AS counted_j,
    CASE WHEN count(drawn_j * share) = count(share) THEN sum(drawn_j * share) END AS drawn_j,
    bit_or(throttle_reasons) FILTER (is_in) AS throttle_bits,
    median(sm_clock_mhz) FILTER (is_in AND coalesce(utilization_ratio, 1) > 0) AS sm_clock_mhz,
    max(sm_clock_max_mhz) AS sm_clock_max_mhz,
    median(memory_clock_mhz) FILTER (is_in AND coalesce(utilization_ratio, 1) > 0) AS memory_clock_mhz,
    list(DISTINCT power_limit_w) FILTER (is_in AND power_limit_w IS NOT NULL) AS power_limits_w,
    max(other_memory_bytes) FILTER (is_in) AS other_memory_bytes,
    avg(other_utilization_ratio) FILTER (is_in) AS other_utilization,
    avg(other_utilization_ratio) FILTER (ts < began_at) AS other_utilization_before,
    arg_max(unknown, ts) FILTER (is_in) AS unknown
FROM shares GROUP BY stretch, machine_id, gpu_index ORDER BY stretch, machine_id, gpu_index
