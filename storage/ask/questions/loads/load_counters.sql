-- The counters between the stretches of the runs' loads.
FROM load_counters_of($run_ids) ORDER BY ts, load_id, segment, engine_index
