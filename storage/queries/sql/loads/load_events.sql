-- Events about the loads of a run and their files, newest first.
SELECT ts, kind, text FROM events_of($run_ids) WHERE kind IN ('workload', 'refused') ORDER BY ts DESC LIMIT $most
