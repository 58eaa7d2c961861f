-- The accuracy of the runs' loads.
FROM accuracy_of($run_ids) ORDER BY ts
