-- The checks of the runs' loads.
FROM checks_of($run_ids) ORDER BY ts
