-- Adopted operating points; a later record names the one it supersedes.
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

COMMENT ON VIEW adopted_points IS 'Adopted operating points, one row each; rows are added and never changed.';
COMMENT ON COLUMN adopted_points.adopted_id IS 'id of the record; sorts by time';
COMMENT ON COLUMN adopted_points.name IS 'name of the arm';
COMMENT ON COLUMN adopted_points.purpose IS 'purpose, as entered; null: none';
COMMENT ON COLUMN adopted_points.reason IS 'reason for the adoption';
COMMENT ON COLUMN adopted_points.engine IS 'of its configuration';
COMMENT ON COLUMN adopted_points.model IS 'of its configuration';
COMMENT ON COLUMN adopted_points.config IS 'the configuration as launched, as JSON; secrets masked';
COMMENT ON COLUMN adopted_points.workload IS 'workload of the measurement, as JSON; null: none';
COMMENT ON COLUMN adopted_points.run_ids IS 'ids of the runs that are its evidence';
COMMENT ON COLUMN adopted_points.adopted_by IS 'name entered by the person who adopted it';
COMMENT ON COLUMN adopted_points.role IS 'role of that person, always the operator';
COMMENT ON COLUMN adopted_points.adopted_at IS 'when';
COMMENT ON COLUMN adopted_points.supersedes IS 'the record that it supersedes; null: none';
COMMENT ON COLUMN adopted_points.superseded_by IS 'the record that supersedes it; null: none';
COMMENT ON COLUMN adopted_points.superseded_at IS 'time of that adoption';
