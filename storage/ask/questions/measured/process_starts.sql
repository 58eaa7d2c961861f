-- When the server process of each run began, by its own word, in seconds since the epoch; of one that began anew meanwhile
-- nothing.
SELECT run_id, min(process_start_s) AS began_s FROM counter_samples_of($run_ids)
GROUP BY run_id HAVING min(process_start_s) = max(process_start_s)
