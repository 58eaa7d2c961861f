-- The difference between each run's log and its counters over the same tokens and seconds.
SELECT run_id, count(*) AS windows, median(abs(relative_difference)) AS difference
FROM crosscheck_of($run_ids) WHERE relative_difference IS NOT NULL GROUP BY run_id
