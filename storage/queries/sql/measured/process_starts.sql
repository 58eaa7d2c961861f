-- The start of each run's server process as the server reports it, in seconds since the epoch; runs whose process
-- restarted are left out.
SELECT run_id, min(process_start_s) AS began_s FROM counter_samples_of($run_ids)
GROUP BY run_id HAVING min(process_start_s) = max(process_start_s)
