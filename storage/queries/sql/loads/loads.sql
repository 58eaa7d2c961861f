-- The parameters of the runs' loads.
FROM loads_of($run_ids) ORDER BY ts, load_id
