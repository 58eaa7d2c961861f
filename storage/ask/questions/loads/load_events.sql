-- How the loads of a run ended and what became of their files, the newest first.
SELECT ts, kind, text FROM events_of($run_ids) WHERE kind IN ('workload', 'refused') ORDER BY ts DESC LIMIT $most
