-- The results of the runs' loads.
FROM results_of($run_ids) ORDER BY ts
