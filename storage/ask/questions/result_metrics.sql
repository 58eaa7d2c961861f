-- What loads have measured: each metric and statistic that has a value.
SELECT metric, statistic, any_value(unit) AS unit
FROM results
WHERE value IS NOT NULL
GROUP BY ALL
ORDER BY ALL
