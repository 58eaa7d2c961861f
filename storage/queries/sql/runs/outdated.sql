-- Runs that ended before a given time and may be deleted by a retention rule: not starred and not referenced.
SELECT r.id AS run_id, r.name FROM raw.runs r LEFT JOIN run_notes_of(NULL) n ON n.run_id = r.id
WHERE r.state IN ('finished', 'failed') AND r.ended_at < $until AND NOT coalesce(n.is_starred, false)
    AND NOT EXISTS (FROM run_references($now) WHERE run_id = r.id)
ORDER BY r.ended_at, r.id
