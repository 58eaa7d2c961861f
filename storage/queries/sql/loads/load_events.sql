-- Events about the loads of a run and their files, newest first, with the notes on what was imported.
SELECT ts, kind, text, coalesce(data ->> '$.notes[*]', []) AS notes
FROM events_of($run_ids) WHERE kind IN ('workload', 'refused') ORDER BY ts DESC LIMIT $most
