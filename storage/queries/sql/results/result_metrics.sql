-- Every metric and statistic with a value in the results of these runs; NULL: of all runs.
SELECT metric, statistic, any_value(unit) AS unit
FROM results_of($run_ids)
WHERE value IS NOT NULL
GROUP BY ALL
ORDER BY ALL
