-- What happened to a run, the oldest first.
SELECT ts, kind, text FROM events_of($run_ids) ORDER BY ts, "offset" LIMIT $most
