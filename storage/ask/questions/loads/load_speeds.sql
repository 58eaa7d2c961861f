-- The two speeds that a run's loads are known by: of a stream alone, and of all together where most of them ran.
SELECT
    run_id,
    median(value) FILTER (metric = 'decode_tps' AND statistic IN ('median', 'mean') AND concurrency = 1) AS stream_tps,
    max(value) FILTER (metric = 'output_tps') AS output_tps
FROM results_of($run_ids)
GROUP BY run_id
