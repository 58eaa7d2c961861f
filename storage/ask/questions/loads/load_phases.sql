-- How the phases of the runs' loads went.
FROM load_phases_of($run_ids) ORDER BY ts, load_id, phase_index
