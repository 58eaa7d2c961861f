-- The startup facts that each run's log states, in the order of the log.
SELECT run_id, data->>'key' AS key, data->'value' AS value, line
FROM events_of($run_ids) WHERE kind = 'startup' ORDER BY ts, "offset"
