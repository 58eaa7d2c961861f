-- The error of each collector of a run whose last tick failed.
SELECT run_id, collector, arg_max(error, ts) AS error FROM collector_health_of($run_ids)
GROUP BY run_id, collector HAVING NOT arg_max(ok, ts)
