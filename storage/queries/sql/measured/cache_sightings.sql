-- The scrapes that saw a new server process, a preemption or a KV cache at least $full_kv full: what makes a server drop
-- prefixes. Counters that fall are those of a new process.
WITH steps AS (
    SELECT
        run_id, ts, kv_usage_ratio,
        preemptions_total - lag(preemptions_total) OVER scrapes AS preempted,
        coalesce(process_start_s <> lag(process_start_s) OVER scrapes, false)
        OR coalesce(prompt_tokens_total < lag(prompt_tokens_total) OVER scrapes, false)
        OR coalesce(generation_tokens_total < lag(generation_tokens_total) OVER scrapes, false)
        OR coalesce(decode_tokens_total < lag(decode_tokens_total) OVER scrapes, false)
        OR coalesce(decode_calls_total < lag(decode_calls_total) OVER scrapes, false) AS is_new_process
    FROM counter_samples_of($run_ids)
    WINDOW scrapes AS (PARTITION BY run_id, definition, engine_index ORDER BY ts)
)
SELECT run_id, ts, is_new_process, greatest(0, coalesce(preempted, 0)) AS preemptions, kv_usage_ratio
FROM steps WHERE is_new_process OR preempted > 0 OR kv_usage_ratio >= $full_kv ORDER BY ts
