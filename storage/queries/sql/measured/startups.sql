-- The startup facts of each run, one column per fact.
FROM startup_of($run_ids)
