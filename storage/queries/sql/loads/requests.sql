-- The requests of a run, oldest first.
SELECT * EXCLUDE (run_id, sampling, extra) FROM requests_of($run_ids) ORDER BY sent_at, request_id
