-- What each run's log said of its server's start, a column a fact.
FROM startup_of($run_ids)
