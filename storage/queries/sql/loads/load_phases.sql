-- The phases of the runs' loads, oldest first.
FROM load_phases_of($run_ids) ORDER BY ts, load_id, phase_index
