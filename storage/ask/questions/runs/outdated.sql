-- Runs that ended before a moment and that a retention rule may delete: not starred, and nothing refers to them.
SELECT r.id AS run_id, r.name FROM raw.runs r LEFT JOIN run_notes_of(NULL) n ON n.run_id = r.id
WHERE r.state IN ('finished', 'failed') AND r.ended_at < $until AND NOT coalesce(n.is_starred, false)
    AND NOT EXISTS (FROM run_references($now) WHERE run_id = r.id)
ORDER BY r.ended_at, r.id
