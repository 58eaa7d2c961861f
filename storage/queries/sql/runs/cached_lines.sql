-- The cached lines of these runs under these formulas, if the run has not changed since.
SELECT l.* EXCLUDE (metrics) FROM raw.run_reports l
JOIN stored_runs($run_ids) r ON r.id = l.run_id
    AND r.started_at IS NOT DISTINCT FROM l.started_at AND r.ended_at IS NOT DISTINCT FROM l.ended_at
WHERE list_contains($run_ids, l.run_id) AND l.formulas = $formulas
