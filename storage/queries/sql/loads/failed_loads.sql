-- Loads of runs that failed after a time, or whose results were refused, oldest first.
SELECT run_id, ts, text FROM events_of($run_ids)
WHERE ts > $since AND (kind = 'refused' OR (kind = 'workload' AND (data->>'is_well') = 'false'))
ORDER BY ts
