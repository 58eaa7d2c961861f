-- What the loads of these runs have measured: each metric and statistic that has a value. NULL: of all runs.
SELECT metric, statistic, any_value(unit) AS unit
FROM results_of($run_ids)
WHERE value IS NOT NULL
GROUP BY ALL
ORDER BY ALL
