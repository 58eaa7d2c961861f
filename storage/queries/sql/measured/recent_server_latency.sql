-- Mean latencies from the servers' own histograms over the last $seconds; means are exact, whereas a percentile would
-- be two bounds. Runs whose server restarted within that time have none.
WITH recent_samples AS (
    FROM latency_samples_of($run_ids) WHERE ts >= now() - to_seconds($seconds)
), increases AS (
    SELECT
        run_id, definition, metric, engine_index,
        last(counts[-1] ORDER BY ts) - first(counts[-1] ORDER BY ts) AS n,
        last(sum_ms ORDER BY ts) - first(sum_ms ORDER BY ts) AS sum_ms
    FROM recent_samples GROUP BY ALL
)
SELECT
    run_id, definition, metric, sum(n)::BIGINT AS n,
    CASE WHEN min(n) >= 0 AND count(sum_ms) = count(*) THEN sum(sum_ms) / nullif(sum(n), 0) END AS mean_ms
FROM increases GROUP BY ALL ORDER BY run_id, metric, n
