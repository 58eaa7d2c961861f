-- The results of the runs' loads: of each load the points in the order of their sizes. Its rows share one moment.
FROM results_of($run_ids)
ORDER BY
    ts, load_id, depth_tokens NULLS FIRST, prompt_tokens NULLS FIRST, output_tokens NULLS FIRST,
    concurrency NULLS FIRST, point, metric, statistic
