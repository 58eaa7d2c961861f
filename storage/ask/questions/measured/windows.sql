-- The windows of each run, in order. Counters and slots are cut into windows of $window_s s; a run known only by its log
-- has the windows of its lines.
WITH cut AS (
    FROM run_windows($window_s, run_ids := $run_ids)
    UNION ALL BY NAME FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
)
FROM told_windows_in('cut') ORDER BY run_id, since_ready_s
