-- The metrics of ended runs, one row per run, metric, concurrency and detail; the registry's definitions are inserted.
CREATE OR REPLACE VIEW metrics AS
WITH definitions(metric, title, unit, definition) AS (VALUES {definitions}), stored_metrics AS (
    SELECT run_id, unnest(from_json(metrics, '{structure}')) AS stored_metric FROM raw.run_reports WHERE formulas <> ''
), metric_rows AS (SELECT run_id, unnest(stored_metric) FROM stored_metrics)
SELECT run_id, metric, title, concurrency, detail, value, reason, unit, definition
FROM metric_rows JOIN definitions USING (metric);
COMMENT ON VIEW metrics IS 'The metrics of ended runs, as Run, Compare and reports show them: one row per run, metric and concurrency.';
