-- The results of the runs' loads; within a load the points are ordered by size. All rows of a load share one time.
FROM results_of($run_ids)
ORDER BY
    ts, load_id, depth_tokens NULLS FIRST, prompt_tokens NULLS FIRST, output_tokens NULLS FIRST,
    concurrency NULLS FIRST, point, metric, statistic
