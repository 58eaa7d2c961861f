-- The gotchas in force, the newest first.
SELECT gotcha_id AS id, * EXCLUDE gotcha_id FROM gotchas ORDER BY written_at DESC, id
