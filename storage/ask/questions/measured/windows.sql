-- The windows of each run, in order. Counters and slots are cut into windows of $window_s s; a run known only by its log
-- has the windows of its lines. Of a run's definitions one is taken that tells decoding from other work, its log last.
WITH cut AS (
    FROM run_windows($window_s, run_ids := $run_ids)
    UNION ALL BY NAME FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids)
), known AS (
    SELECT *, coalesce(decode_s, covered_s) AS known_s FROM cut WHERE since_ready_s > 0
), best AS (
    SELECT run_id, arg_max(definition, (source <> 'log', told)) AS definition
    FROM (SELECT run_id, source, definition, count(activity) AS told FROM known GROUP BY ALL)
    WHERE told > 0 GROUP BY run_id
)
SELECT run_id, since_ready_s, window_s, known_s AS dt_s, decode_tokens AS tokens, decode_steps AS steps,
    decode_tps, tokens_per_step, steps_per_s, acceptance_length, activity, definition, requests_running,
    streams, drafts, accepted,
    source = 'log' OR known_s >= 0.9 * window_s AS is_whole
FROM known SEMI JOIN best USING (run_id, definition)
WHERE known_s IS NOT NULL
ORDER BY run_id, since_ready_s
