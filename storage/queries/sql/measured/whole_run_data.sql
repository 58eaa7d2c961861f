-- Data about each whole run from a single read of its counters: its windows of $window_s s as a list in one row, its
-- acceptance in another and, with $with_points, the engine's time series. Windows and points come in any order: sorting
-- each run's in the program takes less time. Each equals the result of its own query (windows, acceptance,
-- engine_points).
WITH counted_once AS MATERIALIZED (
    FROM counted(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), slots_moved AS MATERIALIZED (
    FROM slot_progress(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), moved AS NOT MATERIALIZED (
    FROM progress_in('counted_once') UNION ALL BY NAME FROM slots_moved
), logged AS (
    FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), sums AS MATERIALIZED (
    FROM scrape_sums_in('moved', false, $run_ids)
), cut AS (
    FROM rates_in('sums', $window_s, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ)
    UNION ALL BY NAME FROM logged
), samples AS (
    FROM rates_in('sums', NULL::DOUBLE, false, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ)
    UNION ALL BY NAME FROM logged
), told AS (
    FROM told_windows_in('cut')
)
SELECT *, 'points' AS kind FROM points_in('samples') WHERE $with_points
UNION ALL BY NAME
SELECT run_id, 'windows' AS kind, list(told) AS windows FROM told GROUP BY run_id
UNION ALL BY NAME
SELECT run_id, 'acceptance' AS kind, * EXCLUDE (run_id) FROM best_acceptance_in('counted_once', $run_ids)
