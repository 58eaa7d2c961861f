-- The sources of each run's speed, the engine's own first, with the meaning of their definitions.
WITH samples AS (
    SELECT 1 AS place, run_id, 'counter' AS source, definition FROM counter_samples_of($run_ids)
    UNION ALL SELECT 2, run_id, 'slots', slots_definition() FROM slot_samples_of($run_ids)
    UNION ALL SELECT 3, run_id, 'log', definition FROM log_samples_of($run_ids) WHERE generation_tps IS NOT NULL
    UNION ALL SELECT 4, run_id, 'client', 'client.requests' FROM requests_of($run_ids)
), meanings AS (
    SELECT definition,
        map_from_entries(list((metric, formula)) FILTER (formula IS NOT NULL)) AS meaning,
        map_from_entries(list((metric, null_reason)) FILTER (formula IS NULL)) AS unknown
    FROM metric_definitions GROUP BY definition
)
SELECT run_id, source, s.definition, count(*) AS samples, any_value(meaning) AS meaning,
    any_value(unknown) AS unknown
FROM samples s LEFT JOIN meanings USING (definition)
GROUP BY place, run_id, source, s.definition ORDER BY place, s.definition
