-- Operating points as they were adopted; which one took the place of another is told by the later record.
CREATE OR REPLACE VIEW adopted_points AS
SELECT
    a.id AS adopted_id, a.name, a.purpose, a.reason,
    a.config->>'$.engine' AS engine,
    a.config->>'$.model' AS model,
    a.config, a.workload, a.run_ids, a.adopted_by, a.role, a.adopted_at, a.supersedes,
    later.id AS superseded_by,
    later.adopted_at AS superseded_at
FROM raw.adopted a
LEFT JOIN (SELECT supersedes, min_by(id, adopted_at) AS id, min(adopted_at) AS adopted_at FROM raw.adopted GROUP BY ALL)
    AS later ON later.supersedes = a.id;

COMMENT ON VIEW adopted_points IS 'Operating points that somebody adopted, one row each; rows are added and never changed.';
COMMENT ON COLUMN adopted_points.adopted_id IS 'id of the record; sorts by time';
COMMENT ON COLUMN adopted_points.name IS 'the arm, as its runs are called';
COMMENT ON COLUMN adopted_points.purpose IS 'what it is for, in the words of who adopted it; null where nothing was said';
COMMENT ON COLUMN adopted_points.reason IS 'why it was adopted, in words';
COMMENT ON COLUMN adopted_points.engine IS 'of its configuration';
COMMENT ON COLUMN adopted_points.model IS 'of its configuration';
COMMENT ON COLUMN adopted_points.config IS 'the configuration as launched, as JSON; secrets masked';
COMMENT ON COLUMN adopted_points.workload IS 'the load under which it was measured, as JSON; null where it had none';
COMMENT ON COLUMN adopted_points.run_ids IS 'the runs that are its evidence';
COMMENT ON COLUMN adopted_points.adopted_by IS 'who adopted it, as they called themselves';
COMMENT ON COLUMN adopted_points.role IS 'in which role: only the operator may adopt anything';
COMMENT ON COLUMN adopted_points.adopted_at IS 'when';
COMMENT ON COLUMN adopted_points.supersedes IS 'the record whose place it took; null where it took none';
COMMENT ON COLUMN adopted_points.superseded_by IS 'the record that took its place; null while it stands';
COMMENT ON COLUMN adopted_points.superseded_at IS 'when that was adopted';
