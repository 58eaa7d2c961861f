-- CPU time and waits of each run and of the whole machine within each window: increments from the sample nearest to the
-- window's start to the one nearest to its end, at most `edge_s` outside. Steps in which a counter of the process tree
-- fell are left out, as are other machines of the run: its server runs here.
WITH stretches AS (
    SELECT unnest(range(len($run_ids))) AS stretch, unnest($run_ids) AS run_id,
        unnest($began_at::TIMESTAMPTZ[]) AS began_at, unnest($ended_at::TIMESTAMPTZ[]) AS ended_at
),
samples_in_window AS (
    SELECT *,
        arg_min(ts, abs(epoch(ts) - epoch(began_at))) OVER (PARTITION BY stretch) AS first_at,
        arg_min(ts, abs(epoch(ts) - epoch(ended_at))) OVER (PARTITION BY stretch) AS last_at
    FROM host_samples_of($run_ids) JOIN stretches USING (run_id)
    WHERE clock_offset_s IS NULL AND ts BETWEEN began_at - to_seconds($edge_s) AND ended_at + to_seconds($edge_s)
),
steps AS (
    SELECT *,
        mono_s - lag(mono_s) OVER by_time AS covered_s,
        cpu_seconds_total - lag(cpu_seconds_total) OVER by_time AS own_s,
        scheduled_seconds_total - lag(scheduled_seconds_total) OVER by_time AS run_s,
        runnable_wait_seconds_total - lag(runnable_wait_seconds_total) OVER by_time AS wait_s,
        throttled_seconds_total - lag(throttled_seconds_total) OVER by_time AS throttled_s,
        host_cpu_seconds_total - lag(host_cpu_seconds_total) OVER by_time AS all_s,
        host_busy_seconds_total - lag(host_busy_seconds_total) OVER by_time AS busy_s,
        host_steal_seconds_total - lag(host_steal_seconds_total) OVER by_time AS steal_s
    FROM samples_in_window WHERE ts BETWEEN first_at AND last_at
    WINDOW by_time AS (PARTITION BY stretch ORDER BY ts)
)
SELECT stretch, count(*) AS samples, min(ts) AS first_at, max(ts) AS last_at,
    sum(COLUMNS('^(covered|own|run|wait|throttled|all|busy|steal)_s$'))
        FILTER (coalesce(least(own_s, run_s, wait_s, throttled_s), 0) >= 0) AS "\0",
    arg_max(unknown, ts) AS unknown
FROM steps GROUP BY stretch
