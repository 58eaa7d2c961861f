-- The windows of each run, in order. Counters and slots are cut into windows of $window_s s; a run with a log only has
-- the windows of its log lines.
WITH cut_windows AS (
    FROM run_windows($window_s, run_ids := $run_ids)
    UNION ALL BY NAME FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
)
FROM classified_windows_in('cut_windows') ORDER BY run_id, since_ready_s
