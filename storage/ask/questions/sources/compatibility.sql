-- What runs where, in the order in which it was first tried.
FROM compatibility_of($run_ids::VARCHAR[]) ORDER BY first_started_at, evidence_run_ids
