-- The speed that another tool, or a document, states of a run: the highest output, else the highest decode speed; never a
-- percentile or a maximum over time.
SELECT run_id, definition, metric, statistic, value, unit, point
FROM results_of($run_ids)
WHERE definition <> 'pitwall' AND value IS NOT NULL AND metric IN ('output_tps', 'decode_tps')
    AND list_contains($statistics, statistic)
QUALIFY row_number() OVER (
    PARTITION BY run_id
    ORDER BY metric DESC, list_position($statistics, statistic), value DESC, point
) = 1
