-- Whether the servers of these runs did any work between two times, by counters, by Pitwall's own requests or by logs,
-- and the GPUs they used. `has_own_requests`: Pitwall's own requests were part of it.
WITH stretch AS (
    SELECT unnest($run_ids::VARCHAR[]) AS run_id, unnest($began::TIMESTAMPTZ[]) AS began_at,
        unnest($ended::TIMESTAMPTZ[]) AS ended_at
), counted AS (
    SELECT run_id, began_at, max(generation_tokens_total) - min(generation_tokens_total) > 0
        OR max(decode_tokens_total) - min(decode_tokens_total) > 0 OR max(requests_running) > 0 AS worked
    FROM counter_samples_of($run_ids) JOIN stretch USING (run_id) WHERE ts BETWEEN began_at AND ended_at
    GROUP BY ALL
), own_requests AS (
    SELECT DISTINCT run_id, began_at, true AS worked, true AS has_own_requests
    FROM requests_of($run_ids) JOIN stretch USING (run_id)
    WHERE sent_at < ended_at AND sent_at + to_milliseconds(coalesce(total_ms, 0)) > began_at
), logged AS (
    SELECT DISTINCT run_id, began_at, true AS worked FROM log_samples_of($run_ids) JOIN stretch USING (run_id)
    WHERE ts BETWEEN began_at AND ended_at AND generation_tps > 0
), gpus AS (
    SELECT run_id, list(DISTINCT gpu_uuid) AS gpu_uuids FROM gpu_samples_of($run_ids) GROUP BY run_id
)
SELECT s.run_id, s.began_at, coalesce(bool_or(w.worked), false) AS worked,
    coalesce(bool_or(w.has_own_requests), false) AS has_own_requests, any_value(g.gpu_uuids) AS gpu_uuids
FROM stretch s
LEFT JOIN (FROM counted UNION ALL BY NAME FROM own_requests UNION ALL BY NAME FROM logged) w
    ON w.run_id = s.run_id AND w.began_at = s.began_at
LEFT JOIN gpus g ON g.run_id = s.run_id
GROUP BY s.run_id, s.began_at
