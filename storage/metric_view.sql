-- The metrics of ended runs, one row per run and listed metric; the registry's names and definitions are inserted.
CREATE OR REPLACE VIEW metrics AS
WITH definitions(metric, title, unit, definition) AS (VALUES {definitions}), numbers AS (
    UNPIVOT (SELECT run_id, output_concurrency, {keys} FROM run_reports) ON {keys} INTO NAME metric VALUE value
)
SELECT
    run_id, metric, title,
    CASE WHEN metric = 'output_tps' THEN output_concurrency::INTEGER WHEN metric IN ({alone}) THEN 1 END AS concurrency,
    value, unit, definition
FROM numbers JOIN definitions USING (metric);
COMMENT ON VIEW metrics IS 'The metrics of ended runs, as Runs, Run and Compare show them: one row per run and metric.';
