-- The speed printed by the log of each run without any other source: per definition, the median of the lines on which
-- the server generated. With several ranks it is their sum at each line, from the time at which every rank has printed
-- one; an earlier sum would lack ranks.
WITH runs_with_counters AS (
    SELECT run_id FROM counter_samples_of($run_ids) UNION SELECT run_id FROM slot_samples_of($run_ids)
), ranks AS (
    SELECT run_id, definition, engine_index, min(ts) AS began_at FROM log_samples_of($run_ids)
    WHERE generation_tps IS NOT NULL AND engine_index IS NOT NULL GROUP BY ALL
), complete_ranks AS (
    SELECT run_id, definition, max(began_at) AS since FROM ranks GROUP BY ALL HAVING max(engine_index) > 0
)
SELECT run_id, definition, median(decode_tps) AS median_tps, count(*) AS lines
FROM run_log_rates(NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ, $run_ids) LEFT JOIN complete_ranks USING (run_id, definition)
WHERE decode_tps > 0 AND ts >= coalesce(since, ts) AND run_id NOT IN (FROM runs_with_counters)
GROUP BY ALL ORDER BY run_id, definition
