-- What the engines showed after $since and not after $until, the oldest first, ranks summed; t in epoch seconds.
SELECT run_id, ts, epoch(ts) AS t, source, definition, decode_tps, tokens_per_step, steps_per_s,
    acceptance_length, per_position, requests_running, requests_waiting, kv_usage_ratio, activity, reason
FROM run_samples_since($since::TIMESTAMPTZ, run_ids := $run_ids, until := $until::TIMESTAMPTZ)
ORDER BY ts, source, definition
