-- What each run's log said once while the server started, in its order.
SELECT run_id, data->>'key' AS key, data->'value' AS value, line
FROM events_of($run_ids) WHERE kind = 'startup' ORDER BY ts, "offset"
