-- Data about each whole run from a single read of its counters: its windows of $window_s s as a list in one row, its
-- acceptance and its usage (highest share of the KV cache, preempted requests) in two more and, with $with_points, the
-- engine's time series. Windows and points come in any order: sorting each run's in the program takes less time. Each
-- equals the result of its own query or view (windows, acceptance, run_samples and run_totals, engine_points).
WITH intervals AS MATERIALIZED (
    FROM counter_intervals(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), slot_intervals AS MATERIALIZED (
    FROM slot_progress(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), all_progress AS NOT MATERIALIZED (
    FROM progress_in('intervals') UNION ALL BY NAME FROM slot_intervals
), log_lines_of_runs AS (
    FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), sums AS MATERIALIZED (
    FROM scrape_sums_in('all_progress', false, $run_ids)
), cut_windows AS (
    FROM rates_in('sums', $window_s, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ)
    UNION ALL BY NAME FROM log_lines_of_runs
), samples AS (
    FROM rates_in('sums', NULL::DOUBLE, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ)
    UNION ALL BY NAME FROM log_lines_of_runs
), classified_windows AS (
    FROM classified_windows_in('cut_windows')
)
SELECT *, 'points' AS kind FROM points_in('samples') WHERE $with_points
UNION ALL BY NAME
SELECT run_id, 'windows' AS kind, list(classified_windows) AS windows FROM classified_windows GROUP BY run_id
UNION ALL BY NAME
SELECT run_id, 'acceptance' AS kind, * EXCLUDE (run_id) FROM best_acceptance_in('intervals', $run_ids)
UNION ALL BY NAME
SELECT run_id, 'usage' AS kind, max(kv_usage_ratio) AS kv_peak_ratio, max(preemptions) AS preemptions
FROM (
    SELECT run_id, max(kv_usage_ratio) AS kv_usage_ratio FROM samples GROUP BY run_id
    UNION ALL BY NAME
    SELECT run_id, max(preemptions) AS preemptions FROM preemptions_in('intervals') GROUP BY run_id
)
GROUP BY run_id
