-- When each kind of sample of a run was last recorded, by the collectors' clock.
SELECT run_id, 'counters' AS source, max(ts) AS ts FROM counter_samples_of($run_ids) GROUP BY run_id
UNION ALL SELECT run_id, 'slots', max(ts) FROM slot_samples_of($run_ids) GROUP BY run_id
UNION ALL SELECT run_id, 'log', max(ts) FROM log_samples_of($run_ids) GROUP BY run_id
UNION ALL SELECT run_id, 'gpu', max(ts) FROM gpu_samples_of($run_ids) GROUP BY run_id
UNION ALL SELECT run_id, 'host', max(ts) FROM host_samples_of($run_ids) GROUP BY run_id
