-- What a run's log said once while the server started, in its order.
SELECT data->>'key' AS key, data->'value' AS value, line
FROM events_of($run_ids) WHERE kind = 'startup' ORDER BY ts, "offset"
