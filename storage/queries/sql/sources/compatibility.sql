-- Which configuration runs on which hardware, in the order of the first attempt.
FROM compatibility_of($run_ids::VARCHAR[]) ORDER BY first_started_at, evidence_run_ids
