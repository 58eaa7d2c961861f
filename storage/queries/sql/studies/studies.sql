SELECT * FROM raw.studies ORDER BY created_at DESC, id
