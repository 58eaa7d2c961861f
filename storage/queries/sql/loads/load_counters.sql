-- The engine counters read between the segments of the runs' loads.
FROM load_counters_of($run_ids) ORDER BY ts, load_id, segment, engine_index
